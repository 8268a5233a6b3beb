import { explain } from './backends.rules.ts';

it('explains why a host acted as it did, and what it runs now', () => {
  const quiet = { outcome: 'heartbeat', reason: '', reverted: false } as const;
  expect(explain(quiet)).toBe('It runs the desired bundle; nothing had to be done.');
  expect(explain({ ...quiet, reason: 'waits:hold' })).toBe(
    'An operator has paused deployments on it; the desired bundle waits.',
  );
  expect(explain({ ...quiet, reason: 'waits:window' })).toMatch(/waits until a maintenance window opens\.$/);
  expect(explain({ ...quiet, reason: 'leader:node-2' })).toBe('node-2 leads its swarm and applies the desired bundle.');
  const reverted = { outcome: 'failed', reason: 'sha_changed', reverted: true } as const;
  expect(explain(reverted)).toMatch(
    /failed to apply the bundle that was desired\. It runs again what it ran before\.$/,
  );
});
