import { parseWave, parseWindow, type PlannedWave, rolloutBounds } from '../../api/rolloutPlan.rules.ts';
import { isTimeZone, type TimeWindow, windowBounds } from '../../api/timeWindow.rules.ts';
import type { NewRollout, Rollback, Rollout, RolloutEdit, RolloutHosts, Webhook } from '../api/types.ts';
import { type Condition, hostName } from './backends.rules.ts';

/** Every state of a rollout. */
export const rolloutConditions: Readonly<Record<string, Condition>> = {
  pending: {
    word: 'pending',
    tone: 'later',
    meaning: 'The next wave starts soon, or in its next window.',
  },
  updating: { word: 'updating', tone: 'later', meaning: 'The hosts of the wave get the bundle.' },
  soaking: { word: 'soaking', tone: 'later', meaning: 'The wave has succeeded and is being watched.' },
  gated: {
    word: 'gated',
    tone: 'bad',
    meaning: 'The wave has succeeded; an operator or the webhook of the gate must let the rollout continue.',
  },
  halted: { word: 'halted', tone: 'bad', meaning: 'No further host gets the bundle.' },
  done: { word: 'done', tone: 'good', meaning: 'Every host gets the bundle.' },
  aborted: { word: 'aborted', tone: 'idle', meaning: 'Hosts that got the bundle get the previous content again.' },
};

/** The reason for the halt of a rollout. */
export const haltReasons: Readonly<Record<NonNullable<Rollout['halted_by']>, string>> = {
  operator: 'an operator has halted it',
  abort: 'its abort is not finished yet',
  gate: 'the webhook of its gate has not let it pass',
  failures: 'too many hosts have failed, or fell silent',
  deadline: 'a wave was not verified by its deadline',
  restore: 'the service was restored from a backup',
};

export type RolloutAct = 'halt' | 'resume' | 'pass' | 'abort';

const acts: Readonly<Record<string, readonly RolloutAct[]>> = {
  pending: ['halt', 'abort'],
  updating: ['halt', 'abort'],
  soaking: ['halt', 'abort'],
  gated: ['pass', 'halt', 'abort'],
  halted: ['resume', 'abort'],
};

/** The possible actions on a rollout in a state, the most helpful first; none once it is over. */
export function rolloutActs(state: string): readonly RolloutAct[] {
  return acts[state] ?? [];
}

/** The gates after a wave. */
export function gateWords({ gate, gate_webhook }: Pick<Rollout, 'gate' | 'gate_webhook'>): string {
  if (gate === 'none') return 'none';
  return gate === 'manual' ? 'somebody passes it' : `the webhook ${gate_webhook ?? ''}, or somebody passes it`;
}

/** The hosts of a wave: `10 % of ring=canary`, `all that are left`. */
export function waveWords({ count, percent, labels }: WavePlan): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const number = count !== null ? String(count) : percent !== null ? `${percent} %` : 'all';
  return pairs.length === 0 ? number : `${number} of ${pairs.join(', ')}`;
}

interface WavePlan {
  count: number | null;
  percent: number | null;
  labels: Readonly<Record<string, string>>;
}

export { rolloutBounds };

/** The input of the form of a rollout, without the bundle. */
type RolloutPlan = Omit<NewRollout, 'sha256'>;

type Fields = Pick<FormData, 'get'>;

/** The plan in a form; invalid lines are left out. */
export function rolloutPlan(fields: Fields): RolloutPlan {
  return {
    waves: linesOf(fields, 'waves').flatMap((line) => parseWave(line) ?? []),
    windows: linesOf(fields, 'windows').flatMap((line) => parseWindow(line) ?? []),
    max_failures: Number(fields.get('failures')),
    soak_s: Number(fields.get('soak')),
    ...gateOf(fields),
  };
}

/** The changes in a form of a running rollout; without waves, the later ones stay. */
export function rolloutEdit(fields: Fields): RolloutEdit {
  const { waves, max_failures, soak_s } = rolloutPlan(fields);
  return { max_failures, soak_s, deadline_s: Number(fields.get('deadline')), ...(waves.length > 0 && { waves }) };
}

/** The faults of a form that changes a running rollout, and how it is understood. */
export function judgeEdit(fields: Fields): { problems: Record<string, string>; meaning: string } {
  const { problems, meaning } = judgeRollout(fields);
  const { waves } = rolloutPlan(fields);
  return { problems, meaning: waves.length === 0 ? 'The later waves stay as they are.' : `From now on: ${meaning}` };
}

/** True if a rollout may skip a host with this status. */
export function maySkip(status: RolloutHosts['hosts'][number]['status']): boolean {
  return status !== 'succeeded' && status !== 'excused';
}

/** Lines about the missing signatures of a rollback, and about hosts that keep their bundle. */
export function rollbackWords({ missing, denying, denying_hosts }: Rollback): string[] {
  const names = denying_hosts.map(hostName).join(', ');
  const more = denying > denying_hosts.length ? `, and ${denying - denying_hosts.length} more` : '';
  const hosts =
    denying === 1 ? '1 host keeps its bundle, because its' : `${denying} hosts keep their bundle, because their`;
  return [
    ...(missing === null
      ? []
      : [`Its bundle awaits ${missing.required} of the signatures of ${missing.signers.join(', ')}.`]),
    ...(denying === 0 ? [] : [`${hosts} policy denies rollbacks: ${names}${more}. The others return.`]),
  ];
}

/** The webhooks that the gate of a rollout in an env can be asked of. */
export function gateWebhooks<Each extends Pick<Webhook, 'env' | 'format'>>(
  webhooks: readonly Each[],
  env: string,
): Each[] {
  return webhooks.filter((webhook) => webhook.format === 'standard' && (webhook.env ?? env) === env);
}

/** The form chooses `none`, `manual` or a webhook by its id. */
function gateOf(fields: Fields): Pick<RolloutPlan, 'gate' | 'gate_webhook'> {
  const gate = fields.get('gate');
  if (typeof gate !== 'string' || gate === 'none' || gate === 'manual')
    return { gate: gate === 'manual' ? gate : 'none' };
  return { gate: 'webhook', gate_webhook: gate };
}

/** The faults in the lines of a form, by its fields, and how the other lines are understood. */
export function judgeRollout(fields: Fields): { problems: Record<string, string>; meaning: string } {
  const flaws = {
    waves: lineFlaw(linesOf(fields, 'waves'), rolloutBounds.waves, waveFlaw),
    windows: lineFlaw(linesOf(fields, 'windows'), windowBounds.windows, windowFlaw),
  };
  const problems = Object.entries(flaws).flatMap(([name, flaw]) => (flaw === null ? [] : [[name, flaw] as const]));
  return { problems: Object.fromEntries(problems), meaning: planWords(rolloutPlan(fields)) };
}

/** The first line that is wrong, and why; null if none is. */
function lineFlaw(lines: readonly string[], most: number, flawOf: (line: string) => string | null): string | null {
  if (lines.length > most) return `There may be ${most} lines at most.`;
  const flaws = lines.flatMap((line) => {
    const flaw = flawOf(line);
    return flaw === null ? [] : [`“${line}” ${flaw}`];
  });
  return flaws[0] ?? null;
}

function waveFlaw(line: string): string | null {
  const wave = parseWave(line);
  if (wave === null) return 'is not a wave: 5, 10% or all, perhaps with labels, such as 10%:ring=canary,region=de.';
  return (wave.count ?? 0) > rolloutBounds.hosts ? 'is more than a million hosts.' : null;
}

function windowFlaw(line: string): string | null {
  const window = parseWindow(line);
  if (window === null)
    return 'is not a window: days, start, for how many minutes, and time zone, such as mon-fri 08:30+90 Europe/Berlin.';
  const { minutes, time_zone } = window;
  if (minutes < 1 || minutes > windowBounds.minutes) return `is not open for 1 to ${windowBounds.minutes} minutes.`;
  return isTimeZone(time_zone) ? null : `has no time zone that is known: ${time_zone}.`;
}

function planWords({ waves, windows }: RolloutPlan): string {
  const numbered = waves.map((wave, index) => `Wave ${index + 1} takes ${hostsOf(wave)}.`);
  const last = waves.length === 0 ? 'One wave takes all hosts.' : 'All hosts that are left come last.';
  const opened = windows.map(windowWords);
  const when = opened.length === 0 ? [] : [`Waves start ${opened.join(', or ')} only.`];
  return [...numbered, last, ...when].join(' ');
}

function hostsOf({ count, percent, labels = {} }: PlannedWave): string {
  const words = waveWords({ count: count ?? null, percent: percent ?? null, labels });
  return Object.keys(labels).length === 0 ? `${words} of the hosts` : words;
}

function windowWords({ days, start, minutes, time_zone }: TimeWindow): string {
  return `${days.join(', ')} from ${start} for ${minutes} minutes (${time_zone})`;
}

function linesOf(fields: Fields, name: string): string[] {
  const text = fields.get(name);
  const lines = typeof text === 'string' ? text.split('\n') : [];
  return lines.map((line) => line.trim().replace(/\s+/g, ' ')).filter((line) => line !== '');
}
