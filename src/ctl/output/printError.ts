import { cureOf } from '../api/remedies.ts';
import { CtlError, exits, type CtlErrorFields } from '../ctlError.ts';
import { harmless, harmlessJson } from './text.ts';

/** What is told of any error; of one that is not expected only its class, because it may hold the bearer. */
export function fieldsOfError(error: unknown): CtlErrorFields {
  if (error instanceof CtlError) return error.fields;
  const kind = error instanceof Error ? error.constructor.name : typeof error;
  return { exit: exits.failed, code: 'INTERNAL', message: `an error of deployctl itself (${kind})` };
}

/** An error for people: code and message, each refusal, and what to do. */
export function formatError({ code, message, remedy, refusals = [] }: CtlErrorFields): string {
  const lines = refusals.flatMap(({ code: refusal, detail }) => {
    const cure = cureOf(refusal);
    return [`  refused: ${refusal}: ${detail}`, ...(cure === undefined ? [] : [`    → ${cure}`])];
  });
  const advice = remedy === undefined || refusals.length > 0 ? [] : [`  → ${remedy}`];
  return [`deployctl: ${code}: ${message}`, ...lines, ...advice].map(harmless).join('\n');
}

/** The same for programs, as in the API's error body. */
export function formatErrorJson({ code, message, refusals = [] }: CtlErrorFields): string {
  return harmlessJson({ error: { code, message, ...(refusals.length > 0 && { refusals }) } });
}
