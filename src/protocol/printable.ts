const MAX_CHARACTERS = 80;

/** Text made safe for one journal line: without control characters. */
export function visible(text: string): string {
  return text.replace(/[\p{C}\u2028\u2029]/gu, '\ufffd');
}

/** Text of a bundle made safe for one journal line: without control characters, at most 80 characters. */
export function printable(text: string): string {
  const shown = visible(text);
  return shown.length > MAX_CHARACTERS ? `${shown.slice(0, MAX_CHARACTERS)}…` : shown;
}
