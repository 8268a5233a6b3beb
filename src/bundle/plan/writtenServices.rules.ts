import {
  type ComposeNode,
  entriesOf,
  itemsOf,
  textOf,
  textsOf,
  valueAt,
  valuesAt,
} from '../compose/composeNode.rules.ts';
import { effectiveValue } from '../compose/services.rules.ts';
import { durationSeconds } from '../policy/quantities.rules.ts';

/**
 * `job`: ends, and its exit code decides; `once`: has no restart policy, so that one exit with 0 finishes it; `service`:
 * is to keep running.
 */
export type ServiceKind = 'job' | 'once' | 'service';

/** The reasons why a service is a job; one with `restart: "no"` is not a job if its image has a healthcheck. */
export type JobReason = 'awaited' | 'mode' | 'restart';

/** A service that another one waits for before it starts. */
export interface Prerequisite {
  name: string;
  condition: 'started' | 'healthy' | 'completed';
}

/** The end, the health and the order of a service, by the compose files. */
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

/** A healthcheck of a compose file or an image; absent numbers are the engine's. */
export interface Healthcheck {
  /** Whether the compose file, or the image, says anything about it. */
  isWritten: boolean;
  /** `disable: true`, or the test `NONE`. */
  isOff: boolean;
  hasTest: boolean;
  startPeriodS: number | undefined;
  intervalS: number | undefined;
  timeoutS: number | undefined;
  retries: number | undefined;
}

/** The engine's form of a healthcheck, with times in nanoseconds; 0 is the engine's own number. */
export interface EngineHealthcheck {
  Test?: string[] | null;
  StartPeriod?: number;
  Interval?: number;
  Timeout?: number;
  Retries?: number;
}

/** How long a service may take to become healthy, and the numbers that say so. */
export interface HealthDemand {
  seconds: number;
  /** `start_period 600s + 5 × interval 30s`; '' without a healthcheck. */
  why: string;
}

const nanosecondsPerSecond = 1e9;
/** The engine's values if neither file nor image has them. */
const [defaultIntervalS, defaultRetries] = [30, 3];

/** For a service without a healthcheck. */
export const noDemand: HealthDemand = { seconds: 0, why: '' };

/** The healthcheck of an image, or of a created container, in which the engine has merged file and image. */
export function engineHealthcheckOf(kept: EngineHealthcheck | null | undefined): Healthcheck {
  const [kind = ''] = kept?.Test ?? [];
  const seconds = (nanoseconds = 0) => (nanoseconds > 0 ? nanoseconds / nanosecondsPerSecond : undefined);
  return {
    isWritten: kind !== '',
    isOff: kind === 'NONE',
    hasTest: kind !== '',
    startPeriodS: seconds(kept?.StartPeriod),
    intervalS: seconds(kept?.Interval),
    timeoutS: seconds(kept?.Timeout),
    retries: kept?.Retries || undefined,
  };
}

/** The healthcheck of the file completed by the healthcheck of the image, as the engine does it; null for an unknown image. */
export function mergeHealthcheck(file: Healthcheck, image: Healthcheck | null): Healthcheck {
  if (file.isOff || image === null) return file;
  if (!file.isWritten) return image;
  return {
    isWritten: true,
    isOff: !file.hasTest && image.isOff,
    hasTest: file.hasTest || image.hasTest,
    startPeriodS: file.startPeriodS || image.startPeriodS,
    intervalS: file.intervalS || image.intervalS,
    timeoutS: file.timeoutS || image.timeoutS,
    retries: file.retries || image.retries,
  };
}

/** True for a healthcheck that the engine runs; a healthcheck without a test uses the test of an unknown image. */
export function hasHealthcheck({ isWritten, isOff }: Healthcheck): boolean {
  return isWritten && !isOff;
}

/** The least that a healthcheck demands: its start period, then as many probes as it may fail, each after an interval. */
export function leastDemandOf(healthcheck: Healthcheck): HealthDemand {
  return demandOf(healthcheck, 0);
}

/**
 * The longest time in which a container may become healthy. A written timeout that is longer than the interval takes its
 * place, since a probe that hangs delays the next one.
 */
export function healthDemandOf(healthcheck: Healthcheck): HealthDemand {
  return demandOf(healthcheck, healthcheck.timeoutS ?? 0);
}

function demandOf(healthcheck: Healthcheck, timeoutS: number): HealthDemand {
  if (!hasHealthcheck(healthcheck)) return noDemand;
  const { startPeriodS = 0 } = healthcheck;
  const intervalS = healthcheck.intervalS || defaultIntervalS;
  const retries = healthcheck.retries || defaultRetries;
  const probe = timeoutS > intervalS ? `timeout ${formatSeconds(timeoutS)}` : `interval ${formatSeconds(intervalS)}`;
  const probes = `${retries} × ${probe}`;
  return {
    seconds: startPeriodS + retries * Math.max(intervalS, timeoutS),
    why: startPeriodS > 0 ? `start_period ${formatSeconds(startPeriodS)} + ${probes}` : probes,
  };
}

/** Seconds for a person, in at most three digits after the point. */
export function formatSeconds(seconds: number): string {
  return `${Number(seconds.toFixed(3))}s`;
}
