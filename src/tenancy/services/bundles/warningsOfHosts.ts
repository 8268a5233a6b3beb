import type { CheckInRequest } from '../../../protocol/checkIn.ts';
import { exceededLimit, formatHostWarnings, type BundleSize, type RefusingHost } from '../../rules/hostWarnings.ts';
import { listCheckIns } from '../../store/checkIns.ts';
import type { Dependencies } from '../dependencies.ts';

/** Check-ins that are read at a time: each may have a line for each of a hundred containers. */
const PAGE_SIZE = 500;

/** What hosts of an env would not permit of a bundle, by the policies that they told last. */
export async function warningsOfHosts({ store }: Dependencies, env: string, size: BundleSize): Promise<string[]> {
  const hosts: RefusingHost[] = [];
  let after: string | null = null;
  do {
    const page = await listCheckIns(store, { env, after, limit: PAGE_SIZE });
    for (const { id, check_in } of page) hosts.push(...refusingHostOf(id, check_in, size));
    after = page.length < PAGE_SIZE ? null : (page.at(-1)?.id ?? null);
  } while (after !== null);
  return formatHostWarnings(hosts);
}

/** The host if it would refuse a bundle of this size. */
function refusingHostOf(id: string, checkIn: string | null, size: BundleSize): RefusingHost[] {
  if (checkIn === null) return [];
  const { host, policy } = JSON.parse(checkIn) as CheckInRequest;
  const detail = policy === undefined ? null : exceededLimit(size, policy);
  return detail === null ? [] : [{ id, name: host.name, detail }];
}
