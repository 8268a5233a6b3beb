/** A healthcheck of a compose file or an image; absent numbers are those of the engine. */
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

/** What the engine keeps of a healthcheck, with times in nanoseconds; 0 is the engine's own number. */
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
/** What the engine takes where neither file nor image says it. */
const [defaultIntervalS, defaultRetries] = [30, 3];

/** Of a service without a healthcheck. */
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

/** The healthcheck of the file completed by that of the image, as the engine does it; null for an image that is not known. */
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

/** True for a healthcheck that the engine runs; the test of one without is that of an image that is not known. */
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
