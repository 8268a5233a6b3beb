import { isDeepStrictEqual } from 'node:util';
import type { SetupObject } from './desiredSetup.ts';

/** How an object of the secretstore is not as desired: it is missing, or fields of it differ. */
export type SetupDifference =
  | { name: string; kind: 'missing' }
  | { name: string; kind: 'different'; fields: { name: string; present: unknown; desired: unknown }[] };

/** Null if the object is as desired; fields that the setup does not speak of are left to the operator. */
export function differenceOf(
  { name, fields }: SetupObject,
  present: Record<string, unknown> | null,
): SetupDifference | null {
  if (present === null) return { name, kind: 'missing' };
  const different = Object.entries(fields)
    .map(([field, desired]) => ({ name: field, present: present[field], desired }))
    .filter((field) => !isDeepStrictEqual(field.present, field.desired));
  return different.length === 0 ? null : { name, kind: 'different', fields: different };
}

/** The lines that tell an operator of a difference. */
export function formatDifference(difference: SetupDifference): string[] {
  if (difference.kind === 'missing') return [`+ ${difference.name}`];
  const fields = difference.fields.map(
    ({ name, present, desired }) => `    ${name}: ${JSON.stringify(present ?? null)} → ${JSON.stringify(desired)}`,
  );
  return [`~ ${difference.name}`, ...fields];
}
