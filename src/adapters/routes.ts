import { readFile } from 'node:fs/promises';
import { routesOf, type Route } from '../rules/hostRoutes.ts';
import { diskFault, isENOENT } from './files.ts';

/** What this host reaches by which device; nothing where the kernel has no such tables. A Fault where they cannot be read. */
export async function readRoutes(): Promise<Route[]> {
  const [table4 = '', table6 = ''] = await Promise.all(['route', 'ipv6_route'].map(tableOf));
  return routesOf(table4, table6);
}

async function tableOf(name: string): Promise<string> {
  const path = `/proc/self/net/${name}`;
  return readFile(path, 'utf8').catch((error: unknown) => {
    if (isENOENT(error)) return '';
    throw diskFault('read', path, error);
  });
}
