import type { ReportOutcome } from '../../../machines/endings.ts';
import { causeTold, failureCauses } from '../../core/failureCauses.rules.ts';
import type { Report } from '../../api/checkIn.rules.ts';
import type { EventType, WebhookEvent } from '../../api/webhooks.rules.ts';
import type {
  BackendRow,
  BundleRow,
  RolloutPlan,
  RolloutProgress,
  RolloutRow,
  TroubleReason,
} from '../store/database.ts';

/** The code of an event for a problem or silence that ends because the backend retires. */
export const RETIRED = 'RETIRED';

/** A change to announce, with the rows that it affects. */
export interface Occurrence {
  type: EventType;
  /** Milliseconds since 1970. */
  now: number;
  env: string;
  backend?: Pick<BackendRow, 'id' | 'site' | 'check_in'>;
  bundle?: Pick<BundleRow, 'sha256' | 'name' | 'version' | 'sequence'> | null;
  /** As reported by the host. */
  code?: string | null;
  /** The detail of its report, and the end of the output; messages contain what `excerptOf` keeps of them. */
  detail?: string | null;
  output?: string | null;
  rollout?: WebhookEvent['data']['rollout'];
}

/**
 * Builds the event of an occurrence. Detail and output are the words of the host, which has removed the secrets that it
 * knows.
 */
export function eventOf({
  type,
  now,
  env,
  backend,
  bundle,
  code = null,
  detail = null,
  output = null,
  rollout = null,
}: Occurrence): WebhookEvent {
  return {
    type,
    timestamp: new Date(now).toISOString(),
    data: {
      env,
      backend: backend ? { id: backend.id, site: oneLine(backend.site), host: hostOf(backend.check_in) } : null,
      bundle: bundle ? bundleOf(bundle) : null,
      code: code !== null && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : null,
      reason: reasonOf(detail),
      ...excerptOf({ detail, output_tail: output }),
      rollout,
    },
  };
}

/** Number of hosts that count against the limit: failed ones of all waves, and lost ones of the current wave. */
export function failuresOf({ waves }: RolloutProgress, started: number): number {
  return waves.reduce((total, { failed }) => total + failed, waves[started - 1]?.offline ?? 0);
}

/** The fields of a rollout in events; its row has the newest progress. */
export function rolloutOf({ id, started, plan, progress, halted_by }: RolloutRow): NonNullable<Occurrence['rollout']> {
  const counted = JSON.parse(progress) as RolloutProgress;
  const { waiting = 0, absent = 0 } = counted.waves[started - 1] ?? {};
  return {
    id,
    failures: failuresOf(counted, started),
    halted_by,
    wave: started,
    waves: (JSON.parse(plan) as RolloutPlan).waves.length,
    awaited: waiting + absent,
    excused: counted.waves.reduce((total, { excused }) => total + excused, 0),
  };
}

/** The event of a test of a webhook. */
export function testEvent(env: string | null, now: number): WebhookEvent {
  const nothing = { backend: null, bundle: null, code: null, reason: null, detail: null, output: null, rollout: null };
  return { type: 'webhook.test', timestamp: new Date(now).toISOString(), data: { env, ...nothing } };
}

function hostOf(checkIn: BackendRow['check_in']): string | null {
  return checkIn && oneLine((JSON.parse(checkIn) as { host: { name: string } }).host.name);
}

/** The fields of a bundle in messages. */
export function bundleOf({ sha256, name, version, sequence }: NonNullable<Occurrence['bundle']>) {
  return { sha256, name: oneLine(name), version: oneLine(version), sequence };
}

/** Longest name, in UTF-16 code units; DNS host names are shorter. */
const MAX_NAME = 253;

/** A name without control and format characters, which could reorder or hide the following text. */
export function oneLine(name: string): string {
  return name.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, MAX_NAME);
}

/** Limits of an excerpt: characters of a detail, lines of output, and characters of each line. */
const excerptBounds = { detail: 500, lines: 10, line: 200, read: 8192 };

/** The beginning of the detail of a report, and the last lines of its output, without colours and control characters. */
export function excerptOf({ detail, output_tail }: Pick<Report, 'detail' | 'output_tail'>): {
  detail: string | null;
  output: string | null;
} {
  const said = linesOf((detail ?? '').slice(0, excerptBounds.read)).join('\n');
  const last = linesOf((output_tail ?? '').slice(-excerptBounds.read)).slice(-excerptBounds.lines);
  const output = last.map((line) => shorten(line, excerptBounds.line)).join('\n');
  return { detail: said === '' ? null : shorten(said, excerptBounds.detail), output: output === '' ? null : output };
}

/** An event without the words of its host. */
export function withoutExcerpt(event: WebhookEvent): WebhookEvent {
  return { ...event, data: { ...event.data, detail: null, output: null } };
}

/** Lines of output beside a problem in lists. */
const LISTED_LINES = 3;

/** The words of a report of a problem, as lists show them. */
export function troubleReasonOf({ outcome, code, ...report }: Omit<Report, 'containers'>): TroubleReason {
  const { detail, output } = excerptOf(report);
  const last = output?.split('\n').slice(-LISTED_LINES).join('\n') ?? null;
  return { outcome, code: code && oneLine(code).slice(0, 64), detail, output: last };
}

/** A code that colours a terminal, such as ESC [31m. */
const colour = /(?![\t\r\n])\p{Cc}\[[\d;?]*(?:[A-Za-z]|$)/gmu;

function linesOf(text: string): string[] {
  const lines = text.replace(colour, '').split(/[\r\n]+/);
  return lines.map((line) => line.replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ').trimEnd()).filter((line) => line !== '');
}

function shorten(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** `migrate=exited(3)`: the form in which an agent reports the state of a service. */
const serviceState =
  /(?<![\w.-])([A-Za-z0-9][\w.-]{0,62})=(exited\(\d{1,3}(?:, out of memory)?\)|unhealthy|dead|created|restarting|starting|missing|paused)(?![\w-])/g;

const maxServices = 10;

/**
 * The reason why a host failed, extracted from the detail of its report: names of services with their states, and
 * causes in the service's words. Everything else in the detail is omitted. Null if nothing remains.
 */
export function reasonOf(detail: string | null): string | null {
  const lines = (detail ?? '').split('\n').filter((line) => !line.startsWith('revert not finished: '));
  const [first = ''] = lines;
  const told = [first, ...lines.filter((line) => line.startsWith('cause: '))].join('\n');
  const services = new Set([...told.matchAll(serviceState)].map(([, name, state]) => `${name} ${state}`));
  const [cause] = lines.map(causeTold).filter((name) => name !== null);
  const parts = [...services].slice(0, maxServices).join(', ');
  const reason = [parts, cause === undefined ? '' : failureCauses[cause].cause]
    .filter((part) => part !== '')
    .join('; ');
  return reason === '' ? null : reason;
}

/**
 * The problem that a report shows: the same one for each report with the same outcome and desired bundle; null for
 * none.
 */
export function troubleOf({ outcome, desired_sha }: Pick<Report, 'outcome' | 'desired_sha'>): string | null {
  return outcome in troubles ? `${outcome} ${desired_sha ?? 'none'}` : null;
}

/** The outcome of the report that showed a problem. */
export function outcomeOfTrouble(trouble: string): string {
  return trouble.split(' ', 1)[0] ?? trouble;
}

/** True for an event that a report explains by its detail and output. */
export function isExplained(type: EventType): boolean {
  return Object.values(troubles).includes(type);
}

/** The event of a report that has changed the problem of its backend; null for a host that is being taken down. */
export function eventOfReport(outcome: ReportOutcome): EventType | null {
  if (outcome === 'down') return null;
  return troubles[outcome] ?? 'backend.recovered';
}

const troubles: Partial<Record<ReportOutcome, EventType>> = {
  refused: 'backend.refused',
  failed: 'backend.failed',
  unhealthy: 'backend.unhealthy',
};

/** Intervals for retrying a failed webhook. */
interface RetrySettings {
  readonly first_retry_s: number;
  readonly longest_retry_s: number;
  readonly give_up_after_s: number;
}

/**
 * Milliseconds until the next attempt after a number of failures. The first pause is doubled each time up to the
 * longest one, and a random share between one half and the whole is used. It is at least the pause that the endpoint
 * asks for, within the longest pause.
 */
export function retryDelayMs(
  failures: number,
  { first_retry_s, longest_retry_s }: Pick<RetrySettings, 'first_retry_s' | 'longest_retry_s'>,
  { random, retryAfterS = 0 }: { random: number; retryAfterS?: number },
): number {
  const ceiling = Math.min(first_retry_s * 2 ** Math.max(failures - 1, 0), longest_retry_s);
  const asked = Math.min(retryAfterS, longest_retry_s);
  return 1000 * Math.max(asked, ceiling * (0.5 + random / 2));
}

/** Whether an endpoint that works refused only this message, so that others may succeed. */
export function isRefusal(status: number | null): boolean {
  return status !== null && status >= 400 && status < 500 && status !== 408 && status !== 429;
}

/** Milliseconds in which a host's events of one kind are sent to a webhook once. */
export const FLAP_MS = 10 * 60_000;

/** An event of a host that waits to be delivered. */
interface WaitingEvent {
  id: string;
  event: WebhookEvent;
  due_at: number;
  /** Number of failed attempts. */
  tries: number;
}

/** The kind of an event: the same for repeats of one trouble. */
export function kindOf({ type, data }: WebhookEvent): string {
  return [type, data.code ?? '', data.bundle?.sha256 ?? ''].join(' ');
}

/** The problems that an event ends. */
const ends: Partial<Record<WebhookEvent['type'], readonly WebhookEvent['type'][]>> = {
  'backend.recovered': ['backend.refused', 'backend.failed', 'backend.unhealthy'],
  'backend.back': ['backend.offline'],
};

/**
 * Decides when a webhook gets an event of a host, and which waiting events of this host it replaces. A repeat replaces
 * the waiting event of its kind; after that was sent, a repeat is held for `FLAP_MS`. A held problem that has ended is
 * not sent, and neither is its end (`dueAt` is null).
 */
export function planDelivery(
  event: WebhookEvent,
  { waiting, announcedAt, now }: { waiting: readonly WaitingEvent[]; announcedAt: number | null; now: number },
): { dueAt: number | null; replaced: string[] } {
  const untried = waiting.filter(({ tries }) => tries === 0);
  const held = untried.filter((each) => each.due_at > now && ends[event.type]?.includes(each.event.type));
  if (held.length > 0) return { dueAt: null, replaced: held.map(({ id }) => id) };
  const previous = untried.find((each) => kindOf(each.event) === kindOf(event));
  const rest = waiting.filter((each) => each !== previous).map(({ due_at }) => due_at);
  // The events of a host stay in their order.
  const dueAt = Math.max(previous?.due_at ?? (ends[event.type] ? now : afterRepeats(announcedAt, now)), ...rest);
  return { dueAt, replaced: previous === undefined ? [] : [previous.id] };
}

/** The time of an event whose kind was announced at a time, or is announced then. */
function afterRepeats(announcedAt: number | null, now: number): number {
  if (announcedAt === null || Math.abs(now - announcedAt) >= FLAP_MS) return now;
  return announcedAt > now ? announcedAt : announcedAt + FLAP_MS;
}
