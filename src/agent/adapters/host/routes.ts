import { routesOf, type Route } from '../../rules/network/hostRoutes.ts';
import { textIfThere } from '../files/ifThere.ts';

/** What this host reaches by which device; nothing where the kernel has no such tables. A Fault where they cannot be read. */
export async function readRoutes(): Promise<Route[]> {
  const [table4 = '', table6 = ''] = await Promise.all(['route', 'ipv6_route'].map(tableOf));
  return routesOf(table4, table6);
}

async function tableOf(name: string): Promise<string> {
  return (await textIfThere(`/proc/self/net/${name}`)) ?? '';
}
