import { type PlannedWave, rolloutBounds } from '../../api/rolloutPlan.rules.ts';
import { isTimeZone, type TimeWindow, weekdays, windowBounds } from '../../api/timeWindow.rules.ts';
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

export { rolloutBounds, weekdays };

/** The input of the form of a rollout, without the bundle. */
type RolloutPlan = Omit<NewRollout, 'sha256'>;

type Fields = Pick<FormData, 'get'>;

/** Rows of the form for waves and for windows. */
export const waveRows: readonly number[] = [0, 1, 2, 3, 4, 5];
export const windowRows: readonly number[] = [0, 1];

/** The plan in a form; rows that are empty or invalid are left out. */
export function rolloutPlan(fields: Fields): RolloutPlan {
  return {
    waves: waveRows.flatMap((row) => waveOf(fields, row) ?? []),
    windows: windowRows.flatMap((row) => windowOf(fields, row) ?? []),
    max_failures: Number(fields.get('failures')),
    soak_s: Number(fields.get('soak')),
    ...gateOf(fields),
  };
}

function textOf(fields: Fields, name: string): string {
  const value = fields.get(name);
  return typeof value === 'string' ? value.trim() : '';
}

/** The wave of a row; null for none. */
function waveOf(fields: Fields, row: number): PlannedWave | null {
  const unit = textOf(fields, `wave-${row}-unit`);
  if (unit === '' || numberFlaw(fields, row) !== null) return null;
  const number = Number(textOf(fields, `wave-${row}-number`));
  const [name = '', value = ''] = textOf(fields, `wave-${row}-label`).split('=');
  return {
    ...(unit === 'hosts' && { count: number }),
    ...(unit === 'percent' && { percent: number }),
    ...(name !== '' && { labels: { [name]: value } }),
  };
}

/** The fault of the number of a wave; null if it is not needed or right. */
function numberFlaw(fields: Fields, row: number): string | null {
  const unit = textOf(fields, `wave-${row}-unit`);
  if (unit !== 'hosts' && unit !== 'percent') return null;
  const [number, most] = [Number(textOf(fields, `wave-${row}-number`)), unit === 'hosts' ? rolloutBounds.hosts : 100];
  if (Number.isInteger(number) && number >= 1 && number <= most) return null;
  return `Wave ${row + 1} needs a number from 1 to ${most.toLocaleString('en')}.`;
}

/** The window of a row; null if it opens on no day, or has a fault. */
function windowOf(fields: Fields, row: number): TimeWindow | null {
  const days = weekdays.filter((day) => fields.get(`window-${row}-${day}`) !== null);
  if (days.length === 0 || windowFlaws(fields, row).length > 0) return null;
  const [start, minutes] = [textOf(fields, `window-${row}-start`), Number(textOf(fields, `window-${row}-minutes`))];
  return { days, start, minutes, time_zone: textOf(fields, `window-${row}-zone`) };
}

/** The faults of a window that opens on some day, by its inputs. */
function windowFlaws(fields: Fields, row: number): [string, string][] {
  if (weekdays.every((day) => fields.get(`window-${row}-${day}`) === null)) return [];
  const [name, zone] = [(part: string) => `window-${row}-${part}`, textOf(fields, `window-${row}-zone`)];
  const minutes = Number(textOf(fields, name('minutes')));
  const isLong = Number.isInteger(minutes) && minutes >= 1 && minutes <= windowBounds.minutes;
  return [
    ...(textOf(fields, name('start')) === ''
      ? [[name('start'), 'When does the window open?'] as [string, string]]
      : []),
    ...(isLong
      ? []
      : [[name('minutes'), `A window is open for 1 to ${windowBounds.minutes} minutes.`] as [string, string]]),
    ...(isTimeZone(zone) ? [] : [[name('zone'), `This time zone is not known: ${zone}.`] as [string, string]]),
  ];
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

/** A sentence about the hosts that the current wave waits for; null for none. */
export function awaitedWords({ state, awaited_hosts, waves, started }: Rollout): string | null {
  const wave = waves[started - 1];
  const more = (wave?.waiting ?? 0) - awaited_hosts.length;
  if (awaited_hosts.length > 0)
    return `The wave waits for: ${awaited_hosts.map(hostName).join(', ')}${more > 0 ? ` and ${more.toLocaleString('en')} more` : ''}`;
  const isExcused = state === 'updating' && wave !== undefined && wave.excused > 0 && wave.succeeded === 0;
  return isExcused ? 'The wave waits until one of its excused hosts succeeds.' : null;
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

/** The faults of a form, by its inputs, and how the other rows are understood. */
export function judgeRollout(fields: Fields): { problems: Record<string, string>; meaning: string } {
  const waves = waveRows.flatMap((row): [string, string][] => {
    const flaw = numberFlaw(fields, row);
    return flaw === null ? [] : [[`wave-${row}-number`, flaw]];
  });
  const windows = windowRows.flatMap((row) => windowFlaws(fields, row));
  return { problems: Object.fromEntries([...waves, ...windows]), meaning: planWords(rolloutPlan(fields)) };
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
