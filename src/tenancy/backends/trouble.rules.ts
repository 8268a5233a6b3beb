import type { BackendState } from '../../../machines/backend.ts';
import type { TroubleReason } from '../store/database.ts';

/** Why a host needs somebody, the worst first. */
export const causes = ['failed', 'refused', 'unhealthy', 'cloned', 'locked', 'offline', 'asleep'] as const;
export type Cause = (typeof causes)[number];

/** The facts about a host that may be in trouble. */
export interface TroubledHost {
  id: string;
  env: string;
  host_name: string | null;
  site: string;
  laptop: boolean;
  state: BackendState;
  healthy: boolean;
  /** Outcome of its newest report, if that is a problem. */
  trouble: string | null;
  locked_at: number | null;
  cloned_at: number | null;
  /** When it entered its state. */
  state_since: number;
  /** Since when it has failed, or was unhealthy, without interruption. */
  troubled_since: number | null;
  /** The words of its newest report of a problem. */
  reason: TroubleReason | null;
}

/** Hosts of one environment with the same cause. */
export interface TroubleGroup {
  env: string;
  cause: Cause;
  /** The words of the first host: only its own. */
  code: string | null;
  detail: string | null;
  output: string | null;
  /** When the first of them got into it; milliseconds since 1970. */
  since: number;
  hosts: TroubledHost[];
}

/** The worst cause of a host; null for none. */
export function causeOf({ state, healthy, laptop, trouble, locked_at, cloned_at }: TroubledHost): Cause | null {
  if (cloned_at !== null) return 'cloned';
  if (locked_at !== null) return 'locked';
  if (state === 'offline') return laptop ? 'asleep' : 'offline';
  const reported = causes.find((cause) => cause === trouble);
  return reported ?? (healthy ? null : 'unhealthy');
}

/** The first groups, by turns of the environments, in their order. */
export function shareGroups(groups: readonly TroubleGroup[], limit: number): TroubleGroup[] {
  const places = new Map<string, number>();
  const ranked = groups.map((group, order) => {
    const place = places.get(group.env) ?? 0;
    places.set(group.env, place + 1);
    return { group, order, place };
  });
  const chosen = ranked.toSorted((one, other) => one.place - other.place || one.order - other.order).slice(0, limit);
  return chosen.toSorted((one, other) => one.order - other.order).map(({ group }) => group);
}

/** Groups hosts by environment and cause: the worst first, then the largest group. */
export function groupTroubles(hosts: readonly TroubledHost[]): TroubleGroup[] {
  const found = hosts.flatMap((host) => {
    const cause = causeOf(host);
    return cause === null ? [] : [{ host, cause, reason: reasonOf(host, cause) }];
  });
  const groups = Map.groupBy(found, ({ host, cause, reason }) =>
    JSON.stringify([host.env, cause, reason?.code, shapeOf(reason?.detail ?? '', host)]),
  );
  return [...groups.values()]
    .flatMap(([first, ...more]) => (first === undefined ? [] : [groupOf([first, ...more])]))
    .toSorted(
      (one, other) =>
        causes.indexOf(one.cause) - causes.indexOf(other.cause) ||
        other.hosts.length - one.hosts.length ||
        (one.env < other.env ? -1 : 1),
    );
}

interface Found {
  host: TroubledHost;
  cause: Cause;
  reason: TroubleReason | null;
}

function groupOf(all: [Found, ...Found[]]): TroubleGroup {
  const [{ host, cause, reason }] = all;
  const { code = null, detail = null, output = null } = reason ?? {};
  const since = Math.min(...all.map((each) => sinceOf(each)));
  return { ...{ env: host.env, cause, code, detail, output, since }, hosts: all.map((each) => each.host) };
}

/** The words that explain a cause, if the newest report of a problem does. */
function reasonOf({ reason }: TroubledHost, cause: Cause): TroubleReason | null {
  return reason?.outcome === cause ? reason : null;
}

function sinceOf({ host, cause }: Found): number {
  const { cloned_at, locked_at, troubled_since, state_since } = host;
  if (cause === 'cloned' || cause === 'locked') return cloned_at ?? locked_at ?? state_since;
  return cause === 'offline' || cause === 'asleep' ? state_since : (troubled_since ?? state_since);
}

/** Names that may be removed from details: a host that names itself with a sentence must not hide it. */
const hostName = /^[A-Za-z0-9][A-Za-z0-9.-]{2,62}$/;

/** A detail without what differs from host to host: its own names as whole words, digests and numbers. */
function shapeOf(detail: string, { host_name, site }: TroubledHost): string {
  const names = [host_name, site].filter((name) => name !== null && hostName.test(name)) as string[];
  const unnamed = names.reduce(
    (text, name) => text.replace(new RegExp(`(?<![\\w-])${name.replaceAll('.', '\\.')}(?![\\w-])`, 'g'), '#'),
    detail,
  );
  return unnamed.replaceAll(/[0-9a-f]{12,}|\d+/g, '#');
}
