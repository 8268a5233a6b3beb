import type { RolloutPlan } from '../store/database.ts';
import { planFault } from './rollout.rules.ts';

const plan: RolloutPlan = { waves: [{ count: 1 }, {}], max_failures: 0, soak_s: 0, gate: 'none', windows: [] };
const window = { days: ['mon' as const], start: '08:00', minutes: 60 };

it.each<[changes: Partial<RolloutPlan>, fault: string | null]>([
  [{}, null],
  [{ waves: [{ percent: 5 }, {}] }, null],
  [{ gate: 'webhook', gate_webhook: 'w-1' }, null],
  [{ gate: 'webhook' }, 'gate_webhook belongs to the gate webhook'],
  [{ gate_webhook: 'w-1' }, 'gate_webhook belongs to the gate webhook'],
  [{ windows: [{ ...window, time_zone: 'Asia/Tokyo' }] }, null],
  [{ windows: [{ ...window, time_zone: 'Europe/Atlantis' }] }, 'there is no time zone Europe/Atlantis'],
  [{ waves: [{ count: 1 }, { count: 1, percent: 5 }] }, 'wave 2 has both a count and a percentage'],
])('%j: %s', (changes, fault) => {
  expect(planFault({ ...plan, ...changes })).toBe(fault);
});
