import type { Tools } from '../tools.ts';

/** Whether no secret is in a text, so that it may be written down. */
export function isPlain({ vault }: Tools, text: string): boolean {
  return vault.redactor().redact(text) === text;
}
