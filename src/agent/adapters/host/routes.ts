import { parseRoutes, type Route } from '../../../bundle/compose/networks.rules.ts';
import { readTextIfExists } from '../files/ifExists.ts';

/** The routes of this host; none when the kernel has no routing tables. Throws a Fault when they cannot be read. */
export async function readRoutes(): Promise<Route[]> {
  const [table4 = '', table6 = ''] = await Promise.all(['route', 'ipv6_route'].map(readTable));
  return parseRoutes(table4, table6);
}

async function readTable(name: string): Promise<string> {
  return (await readTextIfExists(`/proc/self/net/${name}`)) ?? '';
}
