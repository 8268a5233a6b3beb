import { parseEnvAssignments, type EnvAssignment } from '../compose/document/envFileText.ts';
import { interpolate, unescapeDollars, type ValueOf } from './interpolate.ts';

/** An env file as far as it can be read. */
export interface EnvFile {
  assignments: EnvAssignment[];
  /** Lines that are no assignment; they may hold the value of a secret. */
  unread: number;
}

/** Lines that cannot be read, behind which nothing is. */
const maxUnread = 100;

/** Reads an env file line by line; what is no `NAME=VALUE` is counted. */
export function readEnvFile(text: string): EnvFile {
  const read: EnvFile = { assignments: [], unread: 0 };
  for (let left: string | undefined = text.replace(/^\ufeff/, ''); left !== undefined;) {
    const { lines, fault, rest } = parseEnvAssignments(left);
    read.assignments.push(...lines);
    if (fault !== undefined) read.unread++;
    const next = read.unread > maxUnread ? -1 : (rest?.indexOf('\n') ?? -1);
    left = next < 0 ? undefined : rest?.slice(next + 1);
  }
  return read;
}

/** The values of an env file; a variable in one has the value of an earlier line, or of `valueOf`. */
export function envValues({ assignments }: EnvFile, valueOf: ValueOf): Map<string, string> {
  const values = new Map<string, string>();
  for (const { name, template } of assignments) {
    const value = interpolate(template, (variable) => valueOf(variable) ?? values.get(variable) ?? '');
    if (value !== null) values.set(name, unescapeDollars(value));
  }
  return values;
}
