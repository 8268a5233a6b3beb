import { readFile } from 'node:fs/promises';
import { routesOf, type Route } from '../rules/hostRoutes.ts';

/** What this host reaches by which device; nothing where the kernel has no such tables. */
export async function readRoutes(): Promise<Route[]> {
  const [table4 = '', table6 = ''] = await Promise.all(
    ['route', 'ipv6_route'].map((name) => readFile(`/proc/self/net/${name}`, 'utf8').catch(() => '')),
  );
  return routesOf(table4, table6);
}
