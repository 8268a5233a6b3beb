import type { BundleRow, RolloutRow } from '../store/database.ts';
import { gateMessageId, gateQuestion } from './rollout.rules.ts';

const none = { hosts: 0, waiting: 0, succeeded: 0, failed: 0, excused: 0, offline: 0, asleep: 0 };
const row = {
  ...{ id: 'r-1', env: 'eu-1', started: 2, state_since: Date.parse('2026-11-26T08:00:00Z') },
  plan: JSON.stringify({ waves: [{ count: 1 }, { percent: 50 }, {}] }),
  progress: JSON.stringify({
    waves: [
      { ...none, failed: 1 },
      { ...none, failed: 2 },
    ],
    remaining: 0,
  }),
} as RolloutRow;
const bundle = { sha256: 'ab', name: 'shop', version: '7', sequence: 3, size: 9 } as unknown as BundleRow;

it.each([
  [bundle, { sha256: 'ab', name: 'shop', version: '7', sequence: 3 }],
  [null, null],
])('a gate is asked with its wave, its failures and the bundle %j', (known, told) => {
  expect(gateQuestion(row, known)).toEqual({
    type: 'rollout.gate',
    timestamp: '2026-11-26T08:00:00.000Z',
    data: { env: 'eu-1', bundle: told, rollout: { id: 'r-1', wave: 2, waves: 3, failures: 3 } },
  });
});

it('each gate and each time that it is reached has a message of its own', () => {
  const rows = [row, { ...row }, { ...row, started: 3 }, { ...row, state_since: 1 }, { ...row, id: 'r-2' }];
  const ids = rows.map(gateMessageId);
  expect(new Set(ids).size).toBe(4);
  expect(ids.every((id) => id.startsWith('msg_'))).toBe(true);
});
