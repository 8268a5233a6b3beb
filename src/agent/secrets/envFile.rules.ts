import type { Bundle } from '../../../machines/types.ts';

/** Characters that parsers of `.env` interpret, and how each is written between double quotes. */
const escapes: Readonly<Record<string, string>> = {
  $: '${DEPLOYD_Z_D}',
  '\\': '${DEPLOYD_Z_B}',
  '"': '${DEPLOYD_Z_Q}',
  '\r': '\\r',
};

/** Defines the variables of `escapes` in a form that every compose version parses alike. */
const preamble = `DEPLOYD_Z_D='$'\nDEPLOYD_Z_B=\\\nDEPLOYD_Z_Q='"'\n`;

/**
 * The text of a release's `.env`: every value reaches the container byte for byte (spec §4).
 * Names must be valid variable names; `unusableReason` must be null for the values.
 */
export function renderEnvFile(values: ReadonlyMap<string, string>): string {
  return preamble + Array.from(values, ([name, value]) => `${name}="${quoteEnvValue(value)}"\n`).join('');
}

/** A value in the form between the double quotes of a rendered `.env`. */
export function quoteEnvValue(value: string): string {
  return value.replace(/[$\\"\r]/g, (character) => escapes[character] ?? character);
}

/** The values in a text of `renderEnvFile`; null for any other text. */
export function parseEnvFile(text: string): Map<string, string> | null {
  const values = new Map<string, string>();
  if (!text.startsWith(preamble)) return null;
  const assignment = /([A-Za-z_][A-Za-z0-9_]*)="([^"\r]*)"\n/y;
  for (let offset = preamble.length; offset < text.length; offset = assignment.lastIndex) {
    assignment.lastIndex = offset;
    const [, name = '', quoted = ''] = assignment.exec(text) ?? [];
    if (name === '') return null;
    values.set(name, unquote(quoted));
  }
  return values;
}

function unquote(quoted: string): string {
  const characters = new Map(Object.entries(escapes).map(([character, escape]) => [escape, character]));
  return quoted.replace(/\$\{DEPLOYD_Z_[DBQ]\}|\\r/g, (escape) => characters.get(escape) ?? escape);
}

/** The variables of `.env`: the bundle's own, the secrets without registry logins, and the agent's three (spec §5). */
export function environmentOf({ sha, manifest }: Bundle, values: ReadonlyMap<string, string>): Map<string, string> {
  const logins = new Set(manifest.registries.flatMap((each) => [each.username_var, each.password_var]));
  const agentVariables: [string, string][] = [
    ['DEPLOYD_ENV', manifest.env],
    ['DEPLOYD_SHA', sha],
    ['DEPLOYD_VERSION', manifest.version],
  ];
  const secrets = [...values].filter(([name]) => !logins.has(name));
  return new Map([...Object.entries(manifest.variables), ...secrets, ...agentVariables]);
}
