import type { Settings } from './settings.ts';

/** One thing that is wrong with the configuration; `line` counts from 1 and is null where no line is to blame. */
export interface Flaw {
  line: number | null;
  /** Dotted key, empty when the whole file is meant. */
  key: string;
  /** What is allowed, or what to do. */
  text: string;
}

/** The configuration cannot be used: one journal line per flaw, the topmost first (spec §6, §8: exit 78). */
export class ConfigInvalid extends Error {
  override readonly name = 'ConfigInvalid';
  readonly lines: string[];
  /** What may be relied on all the same: every setting without a flaw, defaults among them. */
  readonly sound: Partial<Settings>;

  constructor(path: string, flaws: readonly Flaw[], sound: Partial<Settings> = {}) {
    const lines = flaws.toSorted(byLine).map((flaw) => `CONFIG_INVALID: ${tell(path, flaw)}`);
    super(lines[0]);
    this.lines = lines;
    this.sound = sound;
  }
}

function byLine(a: Flaw, b: Flaw): number {
  return (a.line ?? Infinity) === (b.line ?? Infinity) ? 0 : (a.line ?? Infinity) - (b.line ?? Infinity);
}

function tell(path: string, { line, key, text }: Flaw): string {
  return [line === null ? path : `${path}:${line}`, ...(key === '' ? [] : [key]), text].join(': ');
}
