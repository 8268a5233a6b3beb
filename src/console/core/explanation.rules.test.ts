import { explain } from './backends.rules.ts';

it('tells why a host did what it did, and what it runs since', () => {
  const quiet = { outcome: 'heartbeat', reason: '', reverted: false } as const;
  expect(explain(quiet)).toBe('It runs what is desired, and had nothing to do.');
  expect(explain({ ...quiet, reason: 'waits:hold' })).toBe('An operator holds it: what is desired waits.');
  expect(explain({ ...quiet, reason: 'waits:window' })).toMatch(/waits until one of its windows opens\.$/);
  expect(explain({ ...quiet, reason: 'leader:node-2' })).toBe('node-2 leads its swarm, and does what is desired.');
  const reverted = { outcome: 'failed', reason: 'sha_changed', reverted: true } as const;
  expect(explain(reverted)).toMatch(/and failed\. It runs again what it ran before\.$/);
});
