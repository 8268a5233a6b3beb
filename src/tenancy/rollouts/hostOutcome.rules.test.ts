import type { ReportOutcome } from '../../../machines/endings.ts';
import type { HostOutcome } from '../store/database.ts';
import { outcomeAfterCheckIn, outcomeAfterReport } from './rollout.rules.ts';

const outcomes: HostOutcome[] = ['waiting', 'succeeded', 'failed', 'excused'];

it.each<[what: string, applied: string | null, healthy: boolean, after: HostOutcome[]]>([
  ['runs the bundle and is healthy', 'new', true, ['succeeded', 'succeeded', 'succeeded', 'succeeded']],
  ['runs the bundle and is not healthy', 'new', false, outcomes],
  ['runs another bundle', 'old', true, ['waiting', 'waiting', 'failed', 'excused']],
  ['runs nothing', null, true, ['waiting', 'waiting', 'failed', 'excused']],
])('changes the outcome of a host that %s at its check-in', (_, appliedSha, healthy, after) => {
  expect(outcomes.map((outcome) => outcomeAfterCheckIn(outcome, { appliedSha, healthy }, 'new'))).toEqual(after);
});

const failed: HostOutcome[] = ['failed', 'failed', 'failed', 'excused'];
const succeeded = outcomes.map(() => 'succeeded');

it.each<[report: ReportOutcome, desired: string | null, applied: string | null, after: string[]]>([
  ['applied', 'new', 'new', succeeded],
  ['applied', 'old', 'old', outcomes],
  ['refused', 'new', 'old', failed],
  ['failed', 'new', 'old', failed],
  ['failed', 'new', null, failed],
  ['unhealthy', 'new', 'new', failed],
  ['refused', 'old', 'old', outcomes],
  ['unhealthy', 'old', 'new', outcomes],
  ['failed', null, null, outcomes],
  ['down', null, null, outcomes],
  ['heartbeat', 'new', 'old', outcomes],
])('derives the outcome from a report of %s, desired %s, applied %s', (outcome, desiredSha, appliedSha, after) => {
  expect(outcomes.map((before) => outcomeAfterReport(before, { outcome, desiredSha, appliedSha }, 'new'))).toEqual(
    after,
  );
});
