import { isTimeZone, weekdays, windowBounds, type TimeWindow } from '../protocol/timeWindow.ts';
import type { KeyProblem } from './configInvalid.ts';
import type { ValueType } from './valueTypes.ts';

const { windows, minutes, start, zone } = windowBounds;
const properties = {
  days: { type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string', enum: weekdays } },
  start: { type: 'string', pattern: start },
  minutes: { type: 'integer', minimum: 1, maximum: minutes },
  time_zone: { type: 'string', maxLength: zone },
};

/** A list of windows of time. */
export const timeWindows: ValueType = {
  schema: {
    type: 'array',
    maxItems: windows,
    items: { type: 'object', additionalProperties: false, required: Object.keys(properties), properties },
  },
  allowed:
    `a list of at most ${windows} mappings with the keys days (a list of ${weekdays.join(', ')}), start (such as "08:30"), ` +
    `minutes (1 to ${minutes}) and time_zone (such as Europe/Berlin)`,
};

/** The time zones of windows that this system does not know. */
export function timeZoneProblems(key: string, list: readonly TimeWindow[] = []): KeyProblem[] {
  const unknown = list.filter(({ time_zone }) => !isTimeZone(time_zone));
  return unknown.map(({ time_zone }) => ({ key, message: `must have known time zones: there is no ${time_zone}` }));
}
