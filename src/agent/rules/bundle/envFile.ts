/** Longest `NAME=value` in bytes that the kernel hands to a process: MAX_ARG_STRLEN less the closing NUL. */
const longestAssignment = 131_071;

/** Characters that the parsers of `.env` would act on, and what stands for each between double quotes. */
const standIns: Readonly<Record<string, string>> = {
  $: '${DEPLOYD_Z_D}',
  '\\': '${DEPLOYD_Z_B}',
  '"': '${DEPLOYD_Z_Q}',
  '\r': '\\r',
};

/** Defines the stand-ins in the one way that every compose version reads alike. */
const preamble = `DEPLOYD_Z_D='$'\nDEPLOYD_Z_B=\\\nDEPLOYD_Z_Q='"'\n`;

/**
 * The text of a release's `.env`: every value reaches the container byte for byte (spec §4).
 * Names must be valid variable names, values must have passed `unusable`.
 */
export function renderEnvFile(values: ReadonlyMap<string, string>): string {
  return preamble + Array.from(values, ([name, value]) => `${name}="${quoteEnvValue(value)}"\n`).join('');
}

/** A value as it stands between the double quotes of a rendered `.env`. */
export function quoteEnvValue(value: string): string {
  return value.replace(/[$\\"\r]/g, (character) => standIns[character] ?? character);
}

/** The values of a file that `renderEnvFile` wrote, null for any other text. */
export function parseEnvFile(text: string): Map<string, string> | null {
  const values = new Map<string, string>();
  if (!text.startsWith(preamble)) return null;
  const assignment = /([A-Za-z_][A-Za-z0-9_]*)="([^"\r]*)"\n/y;
  for (let at = preamble.length; at < text.length; at = assignment.lastIndex) {
    assignment.lastIndex = at;
    const [, name = '', quoted = ''] = assignment.exec(text) ?? [];
    if (name === '') return null;
    values.set(name, unquote(quoted));
  }
  return values;
}

function unquote(quoted: string): string {
  const characters = new Map(Object.entries(standIns).map(([character, standIn]) => [standIn, character]));
  return quoted.replace(/\$\{DEPLOYD_Z_[DBQ]\}|\\r/g, (standIn) => characters.get(standIn) ?? standIn);
}

/** Why a value cannot become the environment variable `name`, in words that do not hold it; null when it can (spec §9). */
export function unusable(name: string, value: unknown): string | null {
  if (typeof value !== 'string') return 'is not a string';
  if (value.includes('\0')) return 'holds a NUL character';
  if (!value.isWellFormed()) return 'is not valid Unicode (lone surrogate)';
  const bytes = Buffer.byteLength(`${name}=${value}`);
  return bytes > longestAssignment ? `is too long: ${name}=value takes ${bytes} of ${longestAssignment} bytes` : null;
}
