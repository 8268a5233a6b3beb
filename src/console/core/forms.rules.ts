import type { BackendDetails, Bundle, InstallKit } from '../api/types.ts';
import type { Tone } from './backends.rules.ts';

/** Rows of the form of a secret. */
export const fieldRows: readonly number[] = [0, 1, 2, 3];

type Fields = Pick<FormData, 'get'>;

/** The values of a secret by field; a row without a name is ignored. */
export function secretData(fields: Fields): Record<string, string> {
  const rows = rowsOf(fields).map(({ name, value }) => [name, unixLines(value)] as const);
  return Object.fromEntries(rows.filter(([name]) => name !== ''));
}

/** The rows that would be lost, by the input to change: values without a name, and values of one name. */
export function secretProblems(fields: Fields): Record<string, string> {
  const rows = rowsOf(fields);
  const problems = rows.flatMap(({ name, value, input }, index): [string, string][] => {
    if (name === '' && value !== '') return [[input, 'This value has no field: name one, or remove the value.']];
    const isSecond = name !== '' && rows.slice(0, index).some((row) => row.name === name);
    return isSecond ? [[input, `Another value has the field ${name} already: each field has one value.`]] : [];
  });
  return Object.fromEntries(problems);
}

function rowsOf(fields: Fields) {
  const textOf = (name: string): string => {
    const text = fields.get(name);
    return typeof text === 'string' ? text : '';
  };
  return fieldRows.map((row) => {
    const input = `field-${row}`;
    return { input, name: textOf(input), value: textOf(`value-${row}`) };
  });
}

/** Forms send lines as of another system. */
function unixLines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}

/** A file of a kit, by the name that the command of the kit has for it. */
interface KitFile {
  name: string;
  text: string;
}

/** The files that the installer takes. */
export function kitFiles(kit: InstallKit): KitFile[] {
  const files: [string, string | null][] = [
    ['bootstrap.jwt', kit.bootstrap_jwt],
    ['download-token', kit.download_token],
    ['mesh-enrolment.jwt', kit.mesh_enrolment_jwt],
    ['tenancy-ca.pem', kit.tenancy_ca],
    ['secretstore-ca.pem', kit.secretstore_ca],
    ['trust.json', kit.trust && JSON.stringify(kit.trust, null, 2)],
  ];
  return files.flatMap(([name, text]) => (text === null ? [] : [{ name, text }]));
}

/** The credentials that a new kit invalidates. */
export function supersedes({
  kits_revealed,
  last_seen_at,
}: Pick<BackendDetails, 'kits_revealed' | 'last_seen_at'>): string {
  if (kits_revealed === 0) return 'No kit of this backend was revealed yet.';
  const times = kits_revealed === 1 ? 'once' : `${kits_revealed} times`;
  const host = last_seen_at === null ? '' : ' and the host, which checks in now, is refused until it has the new one';
  return `A kit was revealed ${times} before. The new one supersedes it: its grant is void${host}.`;
}

/** The filters of entries, the same in the address of the page and in the API. */
const filters = ['env', 'actor', 'act'] as const;

type Filter = (typeof filters)[number];

/** The query to the API for the address of a page. */
export function auditQueryOf(query: URLSearchParams, limit: number): URLSearchParams {
  const known = [...filters, 'before'].map((name) => [name, query.get(name) ?? '']);
  return new URLSearchParams([['limit', String(limit)], ...known.filter(([, value]) => value !== '')]);
}

/** The query with other filters, from the newest entry on; an empty text removes one. */
export function filteredBy(query: URLSearchParams, values: Partial<Record<Filter, string>>): URLSearchParams {
  const chosen = filters.map((name) => [name, values[name] ?? query.get(name) ?? '']);
  return new URLSearchParams(chosen.filter(([, value]) => value !== ''));
}

/** Whether a list leaves something out. */
export function isAuditFiltered(query: URLSearchParams): boolean {
  return filters.some((name) => query.has(name));
}

/** Whether an id in the target of an act names a host or a bundle of its environment; null for neither. */
export function idKind(word: string, act: string, env: string | null): 'host' | 'bundle' | null {
  const isHost = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(word) && act.startsWith('backend.');
  if (isHost) return 'host';
  return env !== null && /^[0-9a-f]{64}$/.test(word) ? 'bundle' : null;
}

/** How good the result of an act is. */
export function resultTone(result: string): Tone {
  if (result === 'ok') return 'good';
  return result === 'started' ? 'later' : 'bad';
}

/** Two bundles that are compared, by their digests; null without one. */
export interface Comparison {
  from: string | null;
  to: string | null;
}

/**
 * The comparison of a page: the bundles in its address, otherwise the newest bundle with the desired one. If the newest
 * is desired, or none is, it is compared with the previous one. The bundles belong to the environment, newest first.
 */
export function comparisonOf(
  query: URLSearchParams,
  desiredSha: string | null,
  bundles: readonly Pick<Bundle, 'sha256'>[],
): Comparison {
  const chosen = (name: string) => (query.get(name) === '' ? null : query.get(name));
  const to = chosen('to') ?? bundles[0]?.sha256 ?? null;
  const place = bundles.findIndex(({ sha256 }) => sha256 === to);
  const previous = place === -1 ? null : (bundles[place + 1]?.sha256 ?? null);
  const isDesired = desiredSha === null || desiredSha === to;
  return { from: chosen('from') ?? (isDesired ? previous : desiredSha), to };
}
