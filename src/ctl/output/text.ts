/** Text of a server or a bundle without characters that move the cursor, colour the terminal or reorder what it shows. */
export function harmless(text: string): string {
  return text.replace(invisible, '\ufffd');
}

/** JSON text that shows no such character either; it parses to the same value. */
export function harmlessJson(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(invisibleInJson, (found) =>
    found.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  );
}

/** Columns of a terminal that a text takes. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const character of text) width += widthOf(character);
  return width;
}

/** Text of at most `width` columns; the end of a longer one is an ellipsis. */
export function shorten(text: string, width: number): string {
  if (displayWidth(text) <= width) return text;
  let short = '';
  for (const character of text) {
    if (displayWidth(short + character) >= width) break;
    short += character;
  }
  return `${short}…`;
}

const invisible = /[\p{C}\u2028\u2029]/gu;
/** The line breaks of the format are wanted, those of strings are escaped already. */
const invisibleInJson = /(?!\n)[\p{C}\u2028\u2029]/gu;

function widthOf(character: string): number {
  if (/^\p{M}$/u.test(character)) return 0;
  return wide.test(character) ? 2 : 1;
}

/** East Asian wide and full-width forms, and pictures. */
const wide =
  /^[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]$/u;
