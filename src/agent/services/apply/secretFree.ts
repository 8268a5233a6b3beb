import type { Dependencies } from '../dependencies.ts';

/** True when a text contains no secret, so that it may be written to disk. */
export function isSecretFree({ vault }: Dependencies, text: string): boolean {
  return vault.redactor().redact(text) === text;
}
