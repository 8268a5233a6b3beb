import {
  entriesOf,
  itemsOf,
  textOf,
  textsOf,
  valueAt,
  valuesAt,
  type ComposeNode,
} from '../compose/document/composeNode.ts';
import { effectiveValue } from '../compose/document/serviceLayers.ts';
import { durationSeconds } from '../compose/policy/quantities.ts';
import { hasHealthcheck, type Healthcheck } from './healthcheck.ts';

/**
 * `job`: ends, and its exit code decides; `once`: has no restart policy, so that one exit with 0 finishes it; `service`:
 * is to keep running.
 */
export type ServiceKind = 'job' | 'once' | 'service';

/** What makes a service a job; one of `restart: "no"` is none if its image has a healthcheck. */
export type JobReason = 'awaited' | 'mode' | 'restart';

/** A service that another one waits for before it starts. */
export interface Prerequisite {
  name: string;
  condition: 'started' | 'healthy' | 'completed';
}

/** What the compose files say about the end, the health and the order of a service. */
export interface WrittenService {
  name: string;
  image: string | null;
  kind: ServiceKind;
  /** Null for other kinds than `job`. */
  jobReason: JobReason | null;
  healthcheck: Healthcheck;
  after: Prerequisite[];
}

/** The services of compose files or of a rendered model, by their layers; `resolve` replaces known variables in a text. */
export function writtenServicesOf(
  services: ReadonlyMap<string, readonly ComposeNode[]>,
  resolve: (text: string) => string = (text) => text,
): WrittenService[] {
  const after = new Map([...services].map(([name, layers]) => [name, prerequisitesOf(layers)]));
  const awaited = new Set(
    [...after.values()].flat().flatMap(({ name, condition }) => (condition === 'completed' ? name : [])),
  );
  return [...services].map(([name, layers]) => {
    const read = (...keys: string[]) => resolve(textOf(effectiveValue(layers, ...keys)) ?? '');
    const healthcheck = healthcheckOf(layers, read);
    const jobReason = jobReasonOf(layers, { read, isAwaited: awaited.has(name), healthcheck });
    const kind = jobReason !== null ? 'job' : restartOf(layers, read) === null ? 'once' : 'service';
    const image = read('image') || null;
    return { name, image, kind, jobReason, healthcheck, after: after.get(name) ?? [] };
  });
}

type ReadText = (...keys: string[]) => string;

function jobReasonOf(
  layers: readonly ComposeNode[],
  { read, isAwaited, healthcheck }: { read: ReadText; isAwaited: boolean; healthcheck: Healthcheck },
): JobReason | null {
  if (isAwaited) return 'awaited';
  if (/^(replicated|global)-job$/.test(read('deploy', 'mode'))) return 'mode';
  const isOff = /^(no|none|false)$/i.test(restartOf(layers, read) ?? '');
  return isOff && !hasHealthcheck(healthcheck) ? 'restart' : null;
}

/** The restart policy that takes effect, as compose chooses it; null when none is written. */
function restartOf(layers: readonly ComposeNode[], read: ReadText): string | null {
  if (effectiveValue(layers, 'deploy', 'restart_policy') !== undefined)
    return read('deploy', 'restart_policy', 'condition') || 'any';
  return read('restart') || null;
}

const conditions: Readonly<Record<string, Prerequisite['condition']>> = {
  service_healthy: 'healthy',
  service_completed_successfully: 'completed',
};

/** The last layer that names a service decides about its condition. */
function prerequisitesOf(layers: readonly ComposeNode[]): Prerequisite[] {
  const written = valuesAt(layers, 'depends_on').flatMap((value): [string, Prerequisite['condition']][] => [
    ...textsOf(value.kind === 'map' ? [] : itemsOf(value)).map((name): [string, 'started'] => [name, 'started']),
    ...entriesOf(value).map(([name, entry]): [string, Prerequisite['condition']] => [
      name,
      conditions[textOf(valueAt(entry, 'condition')) ?? ''] ?? 'started',
    ]),
  ]);
  return [...new Map(written)].map(([name, condition]) => ({ name, condition }));
}

function healthcheckOf(layers: readonly ComposeNode[], read: ReadText): Healthcheck {
  const seconds = (key: string) => durationSeconds(read('healthcheck', key)) ?? undefined;
  const test = effectiveValue(layers, 'healthcheck', 'test');
  const [first = ''] = test === undefined ? [] : textsOf(itemsOf(test));
  const retries = Number(read('healthcheck', 'retries') || NaN);
  return {
    isWritten: valuesAt(layers, 'healthcheck').some(({ kind }) => kind === 'map'),
    isOff: /^(true|yes|on|y)$/i.test(read('healthcheck', 'disable')) || (test?.kind === 'list' && first === 'NONE'),
    hasTest: first !== '',
    startPeriodS: seconds('start_period'),
    intervalS: seconds('interval'),
    timeoutS: seconds('timeout'),
    retries: Number.isFinite(retries) ? retries : undefined,
  };
}
