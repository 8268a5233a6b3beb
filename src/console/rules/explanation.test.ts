import { explain } from './explanation.ts';

it('tells why a host did what it did, and what it runs since', () => {
  expect(explain({ outcome: 'heartbeat', reverted: false })).toBe('It runs what is desired, and had nothing to do.');
  expect(explain({ outcome: 'failed', reverted: true })).toMatch(/and failed\. It runs again what it ran before\.$/);
});
