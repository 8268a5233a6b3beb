import { cureOf } from './client.ts';
import { type BundleRefusal, CtlError, type CtlErrorFields, exits } from './ctlError.ts';
import { harmless, harmlessJson } from './table.ts';

/** What is told of any error; of one that is not expected only its class, because it may hold the bearer. */
export function fieldsOfError(error: unknown): CtlErrorFields {
  if (error instanceof CtlError) return error.fields;
  const kind = error instanceof Error ? error.constructor.name : typeof error;
  return { exit: exits.failed, code: 'INTERNAL', message: `an error of deployctl itself (${kind})` };
}

/** An error for people: code and message, each refusal, and what to do. */
export function formatError({ code, message, remedy, refusals = [] }: CtlErrorFields): string {
  const lines = refusals.flatMap(formatRefusal);
  const advice = remedy === undefined || refusals.length > 0 ? [] : remedy.split('\n').map((line) => `  → ${line}`);
  return [`deployctl: ${code}: ${message}`, ...lines, ...advice].map(harmless).join('\n');
}

/** Each fault with its cure; what has none of its own has that of its code. */
function formatRefusal({ code, detail, faults = [{ text: detail, cure: '' }] }: BundleRefusal): string[] {
  return faults.flatMap(({ text, cure }) => {
    const advice = cure || cureOf(code);
    return [`  refused: ${code}: ${text}`, ...(advice === undefined ? [] : [`    → ${advice}`])];
  });
}

/** The same for programs, as in the API's error body. */
export function formatErrorJson({ code, message, refusals = [] }: CtlErrorFields): string {
  return harmlessJson({ error: { code, message, ...(refusals.length > 0 && { refusals }) } });
}
