import type { Report } from '../../api/checkIn.rules.ts';
import { enqueueReport } from './state.rules.ts';

const report = (report_id: string, reason = '') => ({ report_id, reason }) as Report;
const ids = (outbox: Report[]) => outbox.map(({ report_id }) => report_id);

describe('the report outbox (spec §10.3)', () => {
  it('keeps the newest twenty reports, oldest first', () => {
    const all = Array.from({ length: 25 }, (_, nth) => report(`r${nth}`));
    const outbox = all.reduce<Report[]>(enqueueReport, []);
    expect(ids(outbox)).toEqual(ids(all.slice(5)));
  });

  it('holds one report for each tick: a later one replaces the earlier one', () => {
    const outbox = [report('a'), report('b', 'early')];
    expect(enqueueReport(outbox, report('b', 'late'))).toEqual([report('a'), report('b', 'late')]);
  });
});
