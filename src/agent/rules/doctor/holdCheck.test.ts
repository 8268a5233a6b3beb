import { formatHold } from '../schedule/hold.ts';
import { checkHold } from './holdCheck.ts';

const now = new Date('2026-11-26T12:00:00.000Z');
const until = '2026-11-26T18:00:00.000Z';
const fileOf = (text: string) => ({ known: { text, modifiedMs: now.getTime() } });

it('tells a hold, which is no fault', () => {
  expect(checkHold({ known: null }, now)).toMatchObject({ status: 'passed', detail: 'none' });
  const check = checkHold(fileOf(formatHold({ until, reason: 'disk swap' })), now);
  expect(check).toMatchObject({ status: 'passed', detail: `until ${until}, since ${now.toISOString()}: disk swap` });
});

it('finds a damaged file, and cannot judge one that it may not read', () => {
  const { status, findings } = checkHold(fileOf('{'), now);
  expect(status).toBe('failed');
  expect(findings).toEqual([
    {
      problem:
        'this host is held until 2026-12-03T12:00:00.000Z, since 2026-11-26T12:00:00.000Z: hold.json is damaged, or of another version of deployd',
      fix: 'sudo deployd unhold',
    },
  ]);
  expect(checkHold({ unknown: 'use sudo' }, now)).toMatchObject({ status: 'unknown', detail: 'use sudo' });
});
