import { isObject } from './jsonFields.ts';

/** Code and message of an error body, in the format of the tenancy service or of the secretstore; null where missing. */
export function parseErrorBody(json: unknown): { code: string | null; text: string | null } {
  if (!isObject(json)) return { code: null, text: null };
  if (Array.isArray(json.errors)) {
    const messages = json.errors.filter((message) => typeof message === 'string');
    return { code: null, text: toSingleLine(messages.join('; ')) };
  }
  if (!isObject(json.error)) return { code: null, text: null };
  const { code, message } = json.error;
  return {
    code: typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : null,
    text: typeof message === 'string' ? toSingleLine(message) : null,
  };
}

/**
 * A server's text as one journal line: without control characters, at most 300 characters, null when it is empty.
 * It is truncated between words only, because the redaction would not recognize half of a secret.
 */
export function toSingleLine(text: string): string | null {
  const words = text.split(/[\s\p{C}]/u).filter((word) => word !== '');
  let line = '';
  for (const word of words) {
    if (line.length + word.length >= maxMessageCharacters) return `${line} …`.trimStart();
    line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? null : line;
}

const maxMessageCharacters = 300;
