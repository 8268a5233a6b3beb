import type { Backend, Bundle } from './types.ts';

/**
 * Aligned columns with a head. Where the table is wider than `width` columns, the widest cells are shortened; strings of
 * others are made harmless.
 */
export function formatTable(head: string[], rows: string[][], width: number): string {
  const cells = [head, ...rows].map((row) => row.map(harmless));
  const natural = head.map((_, column) => Math.max(...cells.map((row) => displayWidth(row[column] ?? ''))));
  const widths = fitWidths(natural, width - gap.length * (head.length - 1));
  return cells.map((row) => formatRow(row, widths)).join('\n');
}

/** One aligned line for each fact; null leaves a fact out. */
export function formatFacts(facts: [label: string, value: string | null][]): string {
  const known = facts.filter((fact): fact is [string, string] => fact[1] !== null);
  const width = Math.max(...known.map(([label]) => label.length));
  return known.map(([label, value]) => `${label.padEnd(width)}${gap}${harmless(value)}`).join('\n');
}

/** A fact for each warning of the service. */
export function warningFacts(warnings: string[]): [label: string, value: string][] {
  return warnings.map((warning) => ['warning', warning]);
}

const gap = '  ';
/** Columns that a cell keeps however narrow the terminal is. */
const minCellWidth = 8;

/** Takes columns from the widest until their sum fits. */
function fitWidths(natural: number[], available: number): number[] {
  const total = (limit: number) => natural.reduce((sum, width) => sum + Math.min(width, limit), 0);
  let limit = Math.max(minCellWidth, ...natural);
  while (limit > minCellWidth && total(limit) > available) limit--;
  return natural.map((width) => Math.min(width, limit));
}

function formatRow(row: string[], widths: number[]): string {
  const padded = row.map((cell, column) => {
    const width = widths[column] ?? 0;
    const text = shorten(cell, width);
    return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
  });
  return padded.join(gap).trimEnd();
}

/** Text of a server or a bundle without characters that move the cursor, colour the terminal or reorder what it shows. */
export function harmless(text: string): string {
  return text.replace(invisible, '\ufffd');
}

/** JSON text that shows no such character either; it parses to the same value. */
export function harmlessJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replace(invisibleInJson, (found) =>
    found.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** Columns of a terminal that a text takes. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

/** Text of at most `width` columns; the end of a longer one is an ellipsis. */
export function shorten(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let short = '';
  for (const character of text) {
    if (displayWidth(short + character) >= width) break;
    short += character;
  }
  return `${short}…`;
}

const invisible = /[\p{C}\u2028\u2029]/gu;
/** The line breaks of the format are intended; line breaks in strings are already escaped. */
const invisibleInJson = /(?!\n)[\p{C}\u2028\u2029]/gu;

function widthOf(character: string): number {
  if (/^\p{M}$/u.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** East Asian wide and full-width forms, and pictures. */
const wide =
  /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;

/** Time since an RFC 3339 time, as tables show it: `12s`, `5m`, `3h`, `9d`; a dash for never. */
export function formatAge(at: string | null, nowMs: number): string {
  const ageMs = at === null ? NaN : nowMs - Date.parse(at);
  return Number.isNaN(ageMs) ? '-' : formatSpan(Math.max(0, ageMs));
}

/** A time with its distance: `2026-11-25T09:36:11Z (5m ago)`, `2026-11-26T09:36:11Z (in 23h)`. */
export function formatTime(at: string | null, nowMs: number): string {
  if (at === null) return 'never';
  const leftMs = Date.parse(at) - nowMs;
  return leftMs >= 1000 ? `${at} (in ${formatSpan(leftMs)})` : `${at} (${formatAge(at, nowMs)} ago)`;
}

/** Time until an RFC 3339 time: `23h`; `never` for none. */
export function formatLeft(at: string | null, nowMs: number): string {
  return at === null ? 'never' : formatSpan(Math.max(0, Date.parse(at) - nowMs));
}

function formatSpan(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [unit, size] = units.find(([, size]) => seconds >= 2 * size) ?? ['s', 1];
  return `${Math.floor(seconds / size)}${unit}`;
}

const units: [string, number][] = [
  ['d', 86_400],
  ['h', 3600],
  ['m', 60],
];

/** Hex digits of a digest that tables show; `promote` accepts as few. */
const shortShaLength = 12;

/** The beginning of a digest; a dash for none. */
export function shortSha(sha: string | null): string {
  return sha?.slice(0, shortShaLength) ?? '-';
}

/** The name of a host, or the beginning of its id while it has none; commands accept both. */
export function hostLabel({ id, host_name = null }: NamedHost): string {
  return host_name ?? shortId(id);
}

/** A host in a printed command: by its name, unless a shell would read more than a word in it. */
export function hostArgument(host: NamedHost): string {
  const label = hostLabel(host);
  return /^\w[\w.-]*$/.test(label) ? label : shortId(host.id);
}

/** A host in a line, with facts that distinguish it from hosts of the same name. */
export function describeHost({ id, host_name = null, site, env }: DescribedHost): string {
  const place = `site ${site}${env === undefined ? '' : `, environment ${env}`}`;
  return host_name === null ? `${id} (${place})` : `${host_name} (${shortId(id)}, ${place})`;
}

/** A service of an older version does not send the name. */
interface NamedHost {
  id: string;
  host_name?: string | null;
}

interface DescribedHost extends NamedHost {
  site: string;
  env?: string;
}

/** Characters of an id that are shown; a host is named by as few. */
export const shortIdLength = 8;

export function shortId(id: string): string {
  return id.slice(0, shortIdLength);
}

/** Whether a host is healthy: `-` before its first check-in, `unknown` while it is silent. */
export function formatHealth({ healthy, last_seen_at }: Pick<Backend, 'healthy' | 'last_seen_at'>): string {
  if (healthy === null) return last_seen_at === null ? '-' : 'unknown';
  return healthy ? 'yes' : 'no';
}

/** The text about the signatures of a bundle; nothing if none is required. */
export function signatureFacts({ signature = 'not required', signers = [] }: Bundle): [label: string, value: string][] {
  if (signature === 'not required') return [];
  return [['signature', signature], ...signers.map((signer): [label: string, value: string] => ['signer', signer])];
}

/**
 * The commands that finish a bundle which awaits signatures, for its archive in `file`, or after fetching it. A signer
 * sees the differences from `previous`.
 */
export function signatureSteps(
  { env, sha256 }: Pick<Bundle, 'env' | 'sha256'>,
  { file, previous = null }: SignedArchive = {},
): string[] {
  const sha = shortSha(sha256);
  const archive = quote(file ?? `${sha}.tar.gz`);
  return [
    ...(file === undefined ? [`deployctl bundle fetch ${sha} --out ${archive}`] : []),
    `deployctl bundle sign ${archive} --key KEY${previous === null ? '' : ` --previous ${shortSha(previous)}`}`,
    `deployctl signature add ${sha} ${archive}.sigstore.json`,
    `deployctl promote ${env} ${sha}`,
  ];
}

/** The same as facts, where they are needed. */
export function signatureStepFacts(bundle: Bundle, archive: SignedArchive = {}): [label: string, value: string][] {
  if (bundle.signature !== 'awaiting signature') return [];
  return signatureSteps(bundle, archive).map((step) => ['next', step]);
}

interface SignedArchive {
  file?: string;
  /** Digest of the bundle that was desired before. */
  previous?: string | null;
}

/** One word of a shell. */
export function quote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The command that keeps the secrets of an environment. */
export function keepCommand(env: string): string {
  return `deployctl secret keep ${env}`;
}

/** When the secrets of an environment will be destroyed, and how to keep them. */
export function formatDoom(env: string, at: string, nowMs: number): string {
  return `destroyed ${formatTime(at, nowMs)}; to keep them: ${keepCommand(env)}`;
}
