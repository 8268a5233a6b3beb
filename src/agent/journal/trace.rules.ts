import { type Ending, endings } from '../../../machines/endings.ts';
import type { DesiredState, RunOptions, Sha } from '../../../machines/types.ts';
import { visible } from '../../core/text.rules.ts';

/**
 * An observation or decision of a tick, as a closed set of words with typed fields. No field is free text, so that no
 * secret value, server message or container output can reach a trace collector.
 */
export type Decision =
  | { word: 'desired'; action: DesiredState['action']; desired: Sha | null; applied: Sha | null; reason: string }
  | { word: 'paused'; seconds: number }
  | { word: 'deferred'; by: 'hold' | 'window' | 'leader' }
  | { word: 'unhealthy'; services: string[]; nodes?: string[] }
  | { word: 'attempt-found'; sha: Sha; phase: string }
  | { word: 'engine-unreachable' }
  | { word: 'engine-failed' }
  | { word: 'call-failed'; peer: 'tenancy' | 'secretstore' | 'storage'; error: string }
  | { word: 'downloaded'; bytes: number }
  | { word: 'signed'; signers: string[] }
  | { word: 'image-signed'; service: string; digest: string; signers: string[] }
  | { word: 'secrets-read'; count: number }
  | { word: 'started'; services: string[]; untouched: string[]; gone: string[] }
  | { word: 'replaced'; services: string[] }
  | ({ word: 'orders' } & Partial<Record<ReplacementReason, string[]>>)
  | { word: 'current-restored'; sha: Sha | null }
  | { word: 'not-reverted' }
  | { word: 'reverted'; sha: Sha }
  | { word: 'revert-failed'; sha: Sha }
  | { word: 'revert-ended'; sha: Sha }
  | { word: 'interrupted-reverted'; sha: Sha }
  | { word: 'token-replaced' };

/** Why an apply replaces the containers of services in an order, or leaves them. */
export const replacementReasons = {
  asked: { order: 'start-first', why: 'deploy.update_config.order says so' },
  ended: { order: 'stop-first', why: 'none of its containers ran' },
  jobs: { order: 'stop-first', why: 'a job runs again' },
  unasked: { order: 'stop-first', why: 'without deploy.update_config.order: start-first' },
  kept: { order: 'not replaced', why: 'its containers match the bundle' },
} as const;

export type ReplacementReason = keyof typeof replacementReasons;

/** A decision, the state in which it was made, and its time in milliseconds since the start of the tick. */
export type RecordedDecision = Decision & { state: string; at_ms: number };

/** A state of a machine: `on` is the event that entered it; times in milliseconds. */
export interface Step {
  machine: string;
  state: string;
  on: string;
  at_ms: number;
  ms: number;
}

/** The record of one tick: the output of `deployd trace --json` (spec §2). */
export interface Trace {
  schema: 1;
  tick: string;
  version: string;
  env: string;
  intent: RunOptions['intent'];
  /** RFC 3339, UTC. */
  started_at: string;
  ms: number;
  ending: Ending;
  exit: number;
  /** Codes of the refusals or the failure, in the order of the journal lines. */
  codes: string[];
  /**
   * The failure, in the words of journal and report, and its last output, redacted; absent after exit 0 and in older
   * traces.
   */
  said?: string[];
  steps: Step[];
  decisions: RecordedDecision[];
}

/** A decision that may be stored: every text that does not match its pattern, or that is redacted, becomes `?`. */
export function sanitizeDecision(decision: Decision, redact: (text: string) => string): Decision {
  const admit = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.slice(0, maxNames).map((each) => admit(name, each));
    if (typeof value !== 'string' || name === 'word') return value;
    return allowedPatterns[name]?.test(value) && redact(value) === value ? value : '?';
  };
  return Object.fromEntries(Object.entries(decision).map(([name, value]) => [name, admit(name, value)])) as Decision;
}

/** True for a tick that converged and only decided that nothing is desired, and for one that only waited. */
export function isQuiet({ ending, decisions }: Pick<Trace, 'ending' | 'decisions'>): boolean {
  if (ending === 'held' || ending === 'outsideWindow') return true;
  return ending === 'converged' && decisions.every(changesNothing);
}

/** True when nothing is desired, or another node of the swarm does the work. */
function changesNothing(decision: Decision): boolean {
  if (decision.word === 'deferred') return decision.by === 'leader';
  return decision.word === 'desired' && (decision.reason === '' || decision.reason.startsWith('leader:'));
}

/** Whether a decision was made in a state. */
export function wasMadeIn({ state, at_ms, ms }: Step, decision: RecordedDecision): boolean {
  return decision.state === state && decision.at_ms >= at_ms && decision.at_ms <= at_ms + ms;
}

/** The codes of an outcome: the codes of its refusals, otherwise the code of the failure. */
export function codesOf({ code, lines }: { code: string | null; lines: string[] }): string[] {
  const refused = lines.flatMap((line) => /^refused: ([A-Z_]+): /.exec(line)?.[1] ?? []);
  if (refused.length > 0) return refused;
  return code === null ? [] : [code];
}

/** Maximum number of output lines of a failure in a trace, and of characters in a line. */
const [maxOutputLines, maxSaid] = [20, 500];

/** The lines of an outcome and the last lines of its output, both already redacted, in the form that a trace stores. */
export function saidBy({ lines, tail }: { lines: readonly string[]; tail: string | null }): string[] {
  const output = (tail ?? '').split('\n').filter((line) => line.trim() !== '');
  return [...lines, ...output.slice(-maxOutputLines).map((line) => `| ${line}`)].map((line) =>
    visible(line).slice(0, maxSaid),
  );
}

/** Parses a trace; null for another text or another schema. */
export function parseTrace(text: string): Trace | null {
  try {
    const value = JSON.parse(text) as Partial<Trace>;
    const isTrace =
      value.schema === 1 && Object.hasOwn(endings, value.ending ?? '') && value.steps && Array.isArray(value.decisions);
    return isTrace ? (value as Trace) : null;
  } catch {
    return null;
  }
}

/** Limit of a list; no reasonable project has more services. */
const maxNames = 100;

const shaPattern = /^[0-9a-f]{64}$/;
const servicePattern = /^[A-Za-z0-9][\w.-]{0,62}$/;

/** The pattern of each text field of a decision. */
const allowedPatterns: Record<string, RegExp | undefined> = {
  action: /^(apply|none|down)$/,
  desired: shaPattern,
  applied: shaPattern,
  sha: shaPattern,
  reason: /^$|^[a-z_]{1,20}(:[\w.,-]{1,300})?$/,
  phase: /^[a-z]{1,20}$/,
  services: servicePattern,
  ...Object.fromEntries(Object.keys(replacementReasons).map((reason) => [reason, servicePattern])),
  untouched: servicePattern,
  gone: servicePattern,
  nodes: /^\w[\w.-]{0,62}$/,
  signers: /^(key SHA256:[A-Za-z0-9+/]{43}|[\x21-\x7e]{1,253} \([\x21-\x7e]{1,253}\))$/,
  by: /^(hold|window|leader)$/,
  peer: /^(tenancy|secretstore|storage)$/,
  error: /^[A-Z0-9_]{1,64}$/,
};

/** The file of one trace. It is numbered, so that the order does not depend on the clock. */
export interface TraceFile {
  number: number;
  tick: string;
  quiet: boolean;
}

/** Number of newest traces to keep, and of newest traces that are not quiet. */
export const maxTraces = 50;

/** Limits the work of a single tick. */
const maxRemovedAtOnce = 20;

/** `000012-<tick>.json`, or `….quiet.json` for a quiet tick. */
export function traceFileNameOf({ number, tick, quiet }: TraceFile): string {
  return `${String(number).padStart(6, '0')}-${tick}${quiet ? '.quiet' : ''}.json`;
}

/** The trace files among the names of a directory, newest first. */
export function traceFilesOf(names: readonly string[]): TraceFile[] {
  const files = names.flatMap((name): TraceFile[] => {
    const [, number, tick = '', quiet] = /^(\d{6,15})-([0-9a-f-]{36})(\.quiet)?\.json$/.exec(name) ?? [];
    return number === undefined ? [] : [{ number: Number(number), tick, quiet: quiet !== undefined }];
  });
  return files.sort((a, b) => b.number - a.number);
}

/** Selects the files to remove from all, newest first: neither the newest nor the newest that are not quiet. */
export function selectTracesForRemoval(files: readonly TraceFile[]): TraceFile[] {
  const notQuiet = files.filter(({ quiet }) => !quiet).slice(0, maxTraces);
  return files
    .slice(maxTraces)
    .filter((file) => !notQuiet.includes(file))
    .slice(-maxRemovedAtOnce);
}
