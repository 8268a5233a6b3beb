import { endings, type Ending } from '../../../../machines/endings.ts';
import type { Orders, Sha, Start } from '../../../../machines/words.ts';

/**
 * What a tick found out or decided, in a closed set of words with typed facts. There is no free text among them, so that
 * no value, no line of a server and no output of a container can get into a trace.
 */
export type Decision =
  | { word: 'ordered'; action: Orders['action']; desired: Sha | null; applied: Sha | null; reason: string }
  | { word: 'paused'; seconds: number }
  | { word: 'ailing'; services: string[] }
  | { word: 'half-made'; sha: Sha; phase: string }
  | { word: 'engine-silent' }
  | { word: 'troubled'; peer: 'tenancy' | 'secretstore' | 'storage'; error: string }
  | { word: 'downloaded'; bytes: number }
  | { word: 'secrets-read'; count: number }
  | { word: 'started'; services: string[]; untouched: string[]; gone: string[] }
  | { word: 'put-back'; sha: Sha | null }
  | { word: 'left' }
  | { word: 'reverted'; sha: Sha }
  | { word: 'revert-failed'; sha: Sha }
  | { word: 'mended'; sha: Sha }
  | { word: 'leased-anew' };

/** A decision, in which state it fell, and when, in milliseconds since the tick began. */
export type Noted = Decision & { state: string; at_ms: number };

/** A state that a machine entered, by what, and how long it stayed; times in milliseconds. */
export interface Step {
  machine: string;
  state: string;
  on: string;
  at_ms: number;
  ms: number;
}

/** What a tick leaves behind about itself, key by key as `deployd trace --json` prints it (spec §2). */
export interface Trace {
  schema: 1;
  tick: string;
  version: string;
  env: string;
  intent: Start['intent'];
  /** RFC 3339, UTC. */
  started_at: string;
  ms: number;
  ending: Ending;
  exit: number;
  /** Codes of a refusal or failure, in the order in which they were told. */
  codes: string[];
  steps: Step[];
  decisions: Noted[];
}

/** A decision as it may be written down: whatever text does not look like what it should be becomes `?`. */
export function admitted(decision: Decision, redact: (text: string) => string): Decision {
  const admit = (name: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.slice(0, mostNames).map((each) => admit(name, each));
    if (typeof value !== 'string' || name === 'word') return value;
    return forms[name]?.test(value) && redact(value) === value ? value : '?';
  };
  return Object.fromEntries(Object.entries(decision).map(([name, value]) => [name, admit(name, value)])) as Decision;
}

/** Converged, and nothing happened on the way but that the tenancy service wanted nothing. */
export function isQuiet({ ending, decisions }: Pick<Trace, 'ending' | 'decisions'>): boolean {
  return ending === 'converged' && decisions.every((each) => each.word === 'ordered' && each.reason === '');
}

/** The codes in the lines of an outcome: each refusal's, else the one code of a failure. */
export function codesOf({ code, lines }: { code: string | null; lines: string[] }): string[] {
  const refused = lines.flatMap((line) => /^refused: ([A-Z_]+): /.exec(line)?.[1] ?? []);
  if (refused.length > 0) return refused;
  return code === null ? [] : [code];
}

/** The trace in a text, null when it holds none of this version's. */
export function parseTrace(text: string): Trace | null {
  try {
    const value = JSON.parse(text) as Partial<Trace> | null;
    const isTrace =
      value?.schema === 1 &&
      Object.hasOwn(endings, value.ending ?? '') &&
      value.steps &&
      Array.isArray(value.decisions);
    return isTrace ? (value as Trace) : null;
  } catch {
    return null;
  }
}

/** More names of services than any project of sense has. */
const mostNames = 100;

const sha = /^[0-9a-f]{64}$/;
const service = /^[A-Za-z0-9][\w.-]{0,62}$/;

/** What each text of a decision must look like. */
const forms: Record<string, RegExp | undefined> = {
  action: /^(apply|none|down)$/,
  desired: sha,
  applied: sha,
  sha,
  reason: /^$|^[a-z_]{1,20}(:[\w.,-]{1,300})?$/,
  phase: /^[a-z]{1,20}$/,
  services: service,
  untouched: service,
  gone: service,
  peer: /^(tenancy|secretstore|storage)$/,
  error: /^[A-Z0-9_]{1,64}$/,
};
