import { parseMounts, type Mount } from '../../rules/bundle/mountTable.ts';
import { readTextIfExists } from '../files/ifExists.ts';

/** What is mounted where, as the agent sees it. Throws a Fault when the table cannot be read. */
export async function readMounts(): Promise<Mount[]> {
  return parseMounts((await readTextIfExists('/proc/self/mountinfo')) ?? '');
}
