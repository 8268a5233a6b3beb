const MAX_CHARACTERS = 80;

/** Text of a bundle made safe for one journal line: without control characters, at most 80 characters. */
export function printable(text: string): string {
  const visible = text.replace(/[\p{C}\u2028\u2029]/gu, '\ufffd');
  return visible.length > MAX_CHARACTERS ? `${visible.slice(0, MAX_CHARACTERS)}…` : visible;
}
