import type { BackendState } from '../../../machines/backend.ts';
import type { Report } from '../../api/checkIn.rules.ts';

/** Why a host needs somebody, the worst first. */
export const causes = ['failed', 'refused', 'unhealthy', 'cloned', 'locked', 'offline', 'asleep'] as const;
export type Cause = (typeof causes)[number];

/** The part of a report that explains a problem. */
type Reason = Pick<Report, 'outcome' | 'code' | 'detail' | 'output_tail'>;

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
  /** The newest report of a problem. */
  report: { receivedAt: number; report: Reason } | null;
}

/** Hosts of one environment with the same cause. */
export interface TroubleGroup {
  env: string;
  cause: Cause;
  /** The code in the report of the first host. */
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

/** Lines of the output of a group, and characters of a line and of a detail. */
const bounds = { lines: 3, lineLength: 200, detailLength: 500 };

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
  reason: Reason | null;
}

function groupOf(all: [Found, ...Found[]]): TroubleGroup {
  const [{ host, cause, reason }] = all;
  const lines = (reason?.output_tail ?? '').trimEnd().split('\n').slice(-bounds.lines);
  const output = lines.map((line) => line.slice(0, bounds.lineLength)).join('\n');
  return {
    ...{
      env: host.env,
      cause,
      code: reason?.code ?? null,
      detail: reason?.detail?.slice(0, bounds.detailLength) ?? null,
    },
    output: output === '' ? null : output,
    since: Math.min(...all.map((each) => sinceOf(each))),
    hosts: all.map((each) => each.host),
  };
}

/** The report that explains a cause, if one does. */
function reasonOf({ report }: TroubledHost, cause: Cause): Reason | null {
  return report?.report.outcome === cause ? report.report : null;
}

function sinceOf({ host, reason }: Found): number {
  if (reason !== null && host.report !== null) return host.report.receivedAt;
  return host.cloned_at ?? host.locked_at ?? host.state_since;
}

/** A detail without what differs from host to host: its own names, digests and numbers. */
function shapeOf(detail: string, { host_name, site }: TroubledHost): string {
  const names = [host_name, site].filter((name) => name !== null && name.length > 2) as string[];
  const unnamed = names.reduce((text, name) => text.replaceAll(name, '#'), detail);
  return unnamed.replaceAll(/[0-9a-f]{12,}|\d+/g, '#');
}
