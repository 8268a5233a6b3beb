/** One problem of the configuration; `line` counts from 1 and is null when no line is at fault. */
export interface ConfigProblem {
  line: number | null;
  /** Dotted key, empty for the whole file. */
  key: string;
  /** The allowed values, or what to do. */
  message: string;
}

/** A problem whose line is not known yet. */
export type KeyProblem = Omit<ConfigProblem, 'line'>;

/** The configuration is invalid: one line per problem, in the order of the file (spec §6, §8: exit 78). */
export class ConfigInvalid extends Error {
  override readonly name = 'ConfigInvalid';
  readonly lines: string[];
  /** Every setting without a problem, defaults included. */
  readonly validSettings: Readonly<Record<string, unknown>>;

  constructor(path: string, problems: readonly ConfigProblem[], validSettings: Record<string, unknown> = {}) {
    const lines = problems.toSorted(byLine).map((problem) => `CONFIG_INVALID: ${formatProblem(path, problem)}`);
    super(lines[0]);
    this.lines = lines;
    this.validSettings = validSettings;
  }
}

function byLine(a: ConfigProblem, b: ConfigProblem): number {
  return (a.line ?? Number.MAX_SAFE_INTEGER) - (b.line ?? Number.MAX_SAFE_INTEGER);
}

function formatProblem(path: string, { line, key, message: text }: ConfigProblem): string {
  return [line === null ? path : `${path}:${line}`, ...(key === '' ? [] : [key]), text].join(': ');
}
