import { parseListeners, type TakenPort } from '../../../bundle/compose/networks.rules.ts';
import { readTextIfExists } from '../files/ifExists.ts';

const tables = ['tcp', 'tcp6', 'udp', 'udp6'] as const;

/** The ports on which programs of this host listen, in the network namespace of the agent. Throws a Fault when they cannot be read. */
export async function readListeners(): Promise<TakenPort[]> {
  const texts = await Promise.all(
    tables.map(async (table) => ({ table, text: (await readTextIfExists(`/proc/self/net/${table}`)) ?? '' })),
  );
  return texts.flatMap(({ table, text }) => parseListeners(text, table.startsWith('tcp') ? 'tcp' : 'udp'));
}
