import { isTimeZone } from '../../../protocol/timeWindow.ts';
import type { RolloutPlan } from '../../store/rolloutTable.ts';

/** What is wrong with a plan, beyond what its schema says; null for nothing. */
export function planFault({ waves, windows, gate, gate_webhook }: RolloutPlan): string | null {
  if ((gate === 'webhook') !== (gate_webhook !== undefined)) return 'gate_webhook belongs to the gate webhook';
  const ambiguous = waves.findIndex(({ count, percent }) => count !== undefined && percent !== undefined);
  if (ambiguous !== -1) return `wave ${ambiguous + 1} has both a count and a percentage`;
  const unknown = windows.find(({ time_zone }) => !isTimeZone(time_zone));
  return unknown === undefined ? null : `there is no time zone ${unknown.time_zone}`;
}
