import { printable } from '../../../protocol/printable.ts';
import { beyond, refuse, type Judge } from './finding.ts';
import { limits } from './limits.ts';
import { number, onText } from './shapes.ts';
import { textOf } from './tree.ts';

const units_s: Readonly<Record<string, number>> = {
  ...{ w: 604_800, d: 86_400, h: 3600, m: 60, s: 1 },
  ...{ ms: 1e-3, us: 1e-6, '\u00b5s': 1e-6, '\u03bcs': 1e-6, ns: 1e-9 },
};
const part = String.raw`(?:\d+(?:\.\d*)?|\.\d+)(?:[wdhms]|[mu\u00b5\u03bcn]s)`;
const wholeDuration = new RegExp(`^[-+]?(?:0|(?:${part})+)$`);
const longest_s = 2 ** 63 / 1e9;

/** Seconds of a duration by compose's grammar (Go's, with days and weeks), null where compose would refuse it. */
export function durationOf(text: string): number | null {
  if (!wholeDuration.test(text)) return null;
  const parts = [...text.matchAll(/([\d.]+)([a-z\u00b5\u03bc]+)/g)];
  const sum = parts.reduce((sum_s, [, count, unit = '']) => sum_s + Number(count) * (units_s[unit] ?? 0), 0);
  if (sum >= longest_s) return null;
  return text.startsWith('-') ? -sum : sum;
}

/** A duration; what a variable makes of it is judged in compose's model. */
export const duration = onText((text, value, place) =>
  text.includes('$') || durationOf(text) !== null ? [] : refuse(value, place, `${printable(text)} must be a duration`),
);

/**
 * A stop should end before the `up` or `down` that waits for it does; below zero the engine waits without end. What a
 * variable makes of it is judged in compose's model.
 */
const longestGrace_s = 240;

/** `stop_grace_period`. */
export const gracePeriod = onText((text, value, place) => {
  if (text.includes('$')) return [];
  const grace_s = durationOf(text);
  if (grace_s === null) return refuse(value, place, `${printable(text)} must be a duration`);
  if (text.startsWith('-')) return refuse(value, place, `${printable(text)} would never end`);
  return grace_s <= longestGrace_s ? [] : refuse(value, place, `${printable(text)} is longer than ${longestGrace_s}s`);
});

/**
 * Bytes as every compose reads them: an integer, -1 for no limit among them, or a number with b, k, m, g, t or p, each of
 * these also as kb or kib. A fraction without a unit is no limit at all to compose.
 */
const wholeSize = /^(-1|\d[\d_]*|\d+(\.\d+)? ?(b|[kmgtp](i?b)?))$/i;

/** A size; what a variable makes of it is judged in compose's model. */
export const size = onText((text, value, place) =>
  text.includes('$') || wholeSize.test(text) ? [] : refuse(value, place, `${printable(text)} must be a size`),
);

/** A number as compose reads it, 0 for what a variable decides. */
export function countOf(text: string): number {
  return Number(text.replaceAll('_', '')) || 0;
}

/** Containers of one service; what a variable makes of them is judged in compose's model. */
export const replicas: Judge = (value, place) => [
  ...number(value, place),
  ...(countOf(textOf(value) ?? '') > limits.scale
    ? beyond(value, place, `asks for more than ${limits.scale} containers`)
    : []),
];
