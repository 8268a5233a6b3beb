import { enqueued, type Report } from './report.ts';

const report = (report_id: string, reason = '') => ({ report_id, reason }) as Report;
const ids = (outbox: Report[]) => outbox.map(({ report_id }) => report_id);

describe('the outbox (spec §10.3)', () => {
  it('keeps the newest twenty, oldest first', () => {
    const all = Array.from({ length: 25 }, (_, nth) => report(`r${nth}`));
    const outbox = all.reduce<Report[]>(enqueued, []);
    expect(ids(outbox)).toEqual(ids(all.slice(5)));
  });

  it('holds one report a tick: what is known later replaces what was known before', () => {
    const outbox = [report('a'), report('b', 'early')];
    expect(enqueued(outbox, report('b', 'late'))).toEqual([report('a'), report('b', 'late')]);
  });
});
