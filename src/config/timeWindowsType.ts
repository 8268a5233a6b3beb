import { isTimeZone, weekdays, windowBounds, type TimeWindow } from '../protocol/timeWindow.ts';
import type { KeyProblem } from './configInvalid.ts';
import { formatParts, type ValueType } from './valueTypes.ts';

const { windows, minutes, start, zone } = windowBounds;
const properties = {
  days: { type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string', enum: weekdays } },
  start: { type: 'string', pattern: start },
  minutes: { type: 'integer', minimum: 1, maximum: minutes },
  time_zone: { type: 'string', maxLength: zone },
};

const parts = {
  days: `a list of ${weekdays.join(', ')}, none twice`,
  start: 'a time of day such as "08:30"',
  minutes: `a whole number from 1 to ${minutes}`,
  time_zone: 'a time zone such as Europe/Berlin',
};

/** A list of windows of time. */
export const timeWindows: ValueType = {
  schema: {
    type: 'array',
    maxItems: windows,
    items: { type: 'object', additionalProperties: false, required: Object.keys(properties), properties },
  },
  allowed: `a list of at most ${windows} mappings with the keys ${formatParts(parts)}`,
  parts,
};

/** The time zones of windows that this system does not know. */
export function timeZoneProblems(key: string, list: readonly TimeWindow[] = []): KeyProblem[] {
  const unknown = list.filter(({ time_zone }) => !isTimeZone(time_zone));
  return unknown.map(({ time_zone }) => ({ key, message: `must have known time zones: there is no ${time_zone}` }));
}
