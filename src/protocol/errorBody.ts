/** What a server says in an error body, of the tenancy service's or the secretstore's form; null where it says nothing. */
export function serverWords(json: unknown): { code: string | null; text: string | null } {
  if (!isObject(json)) return { code: null, text: null };
  if (Array.isArray(json.errors)) {
    const texts = json.errors.filter((text) => typeof text === 'string');
    return { code: null, text: plainText(texts.join('; ')) };
  }
  if (!isObject(json.error)) return { code: null, text: null };
  const { code, message } = json.error;
  return {
    code: typeof code === 'string' && /^[A-Z][A-Z0-9_]{0,63}$/.test(code) ? code : null,
    text: typeof message === 'string' ? plainText(message) : null,
  };
}

/**
 * A server's text for one journal line: no control characters, at most 300 characters, null when nothing is left.
 * It is cut between words only, since half a secret would slip past the redaction.
 */
export function plainText(text: string): string | null {
  const words = text.split(/[\s\p{C}]+/u).filter((word) => word !== '');
  let line = '';
  for (const word of words) {
    if (line.length + word.length >= longestText) return `${line} …`.trimStart();
    line = line === '' ? word : `${line} ${word}`;
  }
  return line === '' ? null : line;
}

/** True for what JSON calls an object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const longestText = 300;
