import { printable } from '../../core/text.rules.ts';
import type { ComposeNode } from '../compose/composeNode.rules.ts';
import { type Finding, refuse, refuseWithoutValue, type Validator, type ValueLocation } from './finding.rules.ts';
import { composeLimits, countOf } from './limits.rules.ts';
import { numberText, textValidator } from './validators.rules.ts';

const unitSeconds: Readonly<Record<string, number>> = {
  ...{ w: 604_800, d: 86_400, h: 3600, m: 60, s: 1 },
  ...{ ms: 1e-3, us: 1e-6, '\u00b5s': 1e-6, '\u03bcs': 1e-6, ns: 1e-9 },
};

const durationPart = String.raw`(?:\d+(?:\.\d*)?|\.\d+)(?:[wdhms]|[mu\u00b5\u03bcn]s)`;

const durationPattern = new RegExp(`^[-+]?(?:0|(?:${durationPart})+)$`);

const maxDuration_s = 2 ** 63 / 1e9;

/**
 * Seconds of a duration in compose's grammar (Go's, with days and weeks), without its sign; null when compose would
 * refuse it.
 */
export function durationSeconds(text: string): number | null {
  if (!durationPattern.test(text)) return null;
  const parts = [...text.matchAll(/([\d.]+)([a-z\u00b5\u03bc]+)/g)];
  const sum = parts.reduce((sum_s, [, count, unit = '']) => sum_s + Number(count) * (unitSeconds[unit] ?? 0), 0);
  return sum >= maxDuration_s ? null : sum;
}

/** A duration; one with a variable is validated in the rendered model. */
export const duration = textValidator((text, value, location) =>
  text.includes('$') || durationSeconds(text) !== null ? [] : refuseDuration(text, value, location),
);

function refuseDuration(text: string, value: ComposeNode, location: ValueLocation): Finding[] {
  return refuse(value, location, { message: `${printable(text)} must be a duration`, cure: 'write it like 1m30s' });
}

/** Longest stop grace period: a stop must end before the `up` or `down` that waits for it times out. */
export const maxGracePeriod_s = 300;

/**
 * `stop_grace_period`; with a negative value the engine waits forever. One with a variable is validated in the rendered
 * model.
 */
export const stopGracePeriod = textValidator((text, value, location) => {
  if (text.includes('$')) return [];
  const grace_s = durationSeconds(text);
  if (grace_s === null) return refuseDuration(text, value, location);
  const cure = `write at most ${maxGracePeriod_s}s`;
  if (text.startsWith('-')) return refuse(value, location, { message: `${printable(text)} would never end`, cure });
  return grace_s <= maxGracePeriod_s
    ? []
    : refuse(value, location, { message: `${printable(text)} is longer than ${maxGracePeriod_s}s`, cure });
});

/**
 * Bytes as every version of compose reads them: an integer (-1 means no limit), or a number with b, k, m, g, t or p,
 * each of these also as kb or kib. Compose reads a fraction without a unit as no limit.
 */
const sizePattern = /^(-1|\d[\d_]*|\d+(\.\d+)? ?(b|[kmgtp](i?b)?))$/i;

/** The bytes of a size, with binary units as compose reads them; null for any other text. */
export function bytesOf(text: string): number | null {
  if (!sizePattern.test(text)) return null;
  const [, number = '', unit = ''] = /^(-?[\d_.]+) ?([a-z]?)/i.exec(text) ?? [];
  const power = 'bkmgtp'.indexOf(unit.toLowerCase() || 'b');
  return Number(number.replaceAll('_', '')) * 1024 ** power;
}

/** A size; one with a variable is validated in the rendered model. */
export const size = textValidator((text, value, location) =>
  text.includes('$') || sizePattern.test(text)
    ? []
    : refuse(value, location, { message: `${printable(text)} must be a size`, cure: 'write it like 512m or 1.5g' }),
);

/** Containers of one service; a number with a variable is validated in the rendered model. */
export const replicas: Validator = (value, location) => [
  ...numberText(value, location),
  ...(countOf(value) > composeLimits.containersPerService
    ? refuseWithoutValue(value, location, {
        message: `asks for more than ${composeLimits.containersPerService} containers`,
        cure: 'ask for fewer',
      })
    : []),
];

const [dayMs, weekMs] = [86_400_000, 604_800_000];

const unitMs = new Map([
  ['w', weekMs],
  ['d', dayMs],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
]);

/** The interval of `daily`, `weekly` and `every_<duration>`, null for another policy. */
export function pullIntervalMs(pullPolicy: string | null): number | null {
  if (pullPolicy === 'daily') return dayMs;
  if (pullPolicy === 'weekly') return weekMs;
  if (!pullPolicy?.startsWith('every_')) return null;
  const parts = pullPolicy.matchAll(/(\d+)([wdhms])/g);
  return [...parts].reduce((sum, [, count, unit = '']) => sum + Number(count) * (unitMs.get(unit) ?? 0), 0);
}
