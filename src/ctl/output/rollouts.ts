import type { TimeWindow } from '../../protocol/timeWindow.ts';
import type { Rollout, RolloutWave, WaveSize } from '../api/types.ts';
import { formatLabels } from '../input/labels.ts';
import { formatFacts, formatTable } from './table.ts';
import { formatTime } from './times.ts';

/** A rollout as text, with a table of its waves. */
export function formatRollout(rollout: Rollout, { width, nowMs }: { width: number; nowMs: number }): string {
  const { state, halted_by, next_start_at, max_failures, soak_s, gate_reason, waves, started } = rollout;
  const facts = formatFacts([
    ['rollout', rollout.id],
    ['env', rollout.env],
    ['bundle', rollout.sha256],
    ['before', rollout.previous_sha ?? 'nothing'],
    [
      'state',
      `${state}${halted_by === null ? '' : ` by ${halted_by}`} since ${formatTime(rollout.state_since, nowMs)}`,
    ],
    ['next wave', next_start_at && formatTime(next_start_at, nowMs)],
    ['limit', `halts when more than ${max_failures} hosts have failed`],
    ['after a wave', `${soak_s} s of soak${formatGate(rollout)}`],
    ['gate', gate_reason],
    ...rollout.windows.map((window): [string, string] => ['window', formatWindow(window)]),
    ['started by', `${rollout.created_by} at ${formatTime(rollout.created_at, nowMs)}`],
    ['in no wave', `${rollout.remaining} hosts`],
    ...rollout.failed_hosts.map(({ id, site }): [string, string] => ['failed', `${id}, site ${site}`]),
  ]);
  const head = ['WAVE', 'TAKES', 'HOSTS', 'WAITING', 'SUCCEEDED', 'FAILED', 'EXCUSED', 'OFFLINE', 'ASLEEP'];
  const rows = waves.map((wave, index) => [String(index + 1), formatSize(wave), ...countsOf(wave, index < started)]);
  return `${facts}\n\n${formatTable(head, rows, width)}`;
}

function formatGate({ gate, gate_webhook }: Rollout): string {
  if (gate === 'none') return '';
  const pass = '`deployctl rollout pass`';
  return `, then the gate: ${gate === 'manual' ? pass : `the webhook ${gate_webhook}, or ${pass}`}`;
}

function countsOf(wave: RolloutWave, hasStarted: boolean): string[] {
  const { hosts, waiting, succeeded, failed, excused, offline, asleep } = wave;
  const counts = [hosts, waiting, succeeded, failed, excused, offline, asleep];
  if (!hasStarted) return counts.map(() => '-');
  return hosts === 0 ? ['empty'] : counts.map(String);
}

function formatSize({ count, percent, labels }: WaveSize): string {
  const size = percent === null ? String(count ?? 'all') : `${percent}%`;
  return `${size} ${formatLabels(labels)}`.trim();
}

function formatWindow({ days, start, minutes, time_zone }: TimeWindow): string {
  return `${days.join(', ')} from ${start} for ${minutes} minutes, ${time_zone}`;
}
