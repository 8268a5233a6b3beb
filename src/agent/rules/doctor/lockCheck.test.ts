import { checkLock, type LockFacts } from './lockCheck.ts';

const now = new Date('2026-11-21T12:00:00Z');
const free: LockFacts = { present: false, held: false, pid: null, since: null, maxTickS: 7200 };
const held: LockFacts = { ...free, present: true, held: true, pid: 7, since: '2026-11-21T10:00:00Z' };

it('the lock is free, or held by a tick at work', () => {
  expect(checkLock({ known: free }, now)).toEqual({ name: 'lock', status: 'passed', detail: 'free', findings: [] });
  const detail = 'held by process 7 for 7200 s';
  expect(checkLock({ known: held }, now)).toEqual({ name: 'lock', status: 'passed', detail, findings: [] });
});

it('the lock of a tick that died, or that runs for longer than it may, fails', () => {
  expect(checkLock({ known: { ...free, present: true } }, now)).toEqual({
    ...{ name: 'lock', status: 'failed', detail: 'free' },
    findings: [
      { problem: 'a tick died and left its lock; the next tick takes it away', fix: 'sudo deployd run --once' },
    ],
  });
  expect(checkLock({ known: { ...held, maxTickS: 7199 } }, now)).toEqual({
    ...{ name: 'lock', status: 'failed', detail: 'held by process 7 for 7200 s' },
    findings: [
      { problem: 'the tick of process 7 has run for 7200 s, longer than its time limits allow', fix: 'sudo kill 7' },
    ],
  });
});

it('the lock is unknown when it cannot be read', () => {
  const unknown = { name: 'lock', status: 'unknown', detail: 'use sudo', findings: [] };
  expect(checkLock({ unknown: 'use sudo' }, now)).toEqual(unknown);
});
