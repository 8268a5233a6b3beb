/** The candidate with the smallest edit distance to `word`; the first one among equals. */
export function closestMatch(word: string, candidates: readonly [string, ...string[]]): string {
  return candidates.reduce((best, candidate) =>
    editDistance(word, candidate) < editDistance(word, best) ? candidate : best,
  );
}

/** Damerau-Levenshtein distance (insertion, deletion, substitution, transposition), ignoring case. */
function editDistance(a: string, b: string): number {
  const [from, to] = [a.toLowerCase(), b.toLowerCase()];
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= from.length; row++) {
    const line = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      line.push(
        Math.min(
          cellAt(rows, row - 1, column) + 1,
          cellAt([line], 0, column - 1) + 1,
          cellAt(rows, row - 1, column - 1) + (same ? 0 : 1),
          swapped ? cellAt(rows, row - 2, column - 2) + 1 : Infinity,
        ),
      );
    }
    rows.push(line);
  }
  return cellAt(rows, from.length, to.length);
}

function cellAt(rows: number[][], row: number, column: number): number {
  return rows[row]?.[column] ?? Infinity;
}

/** `7.5 GiB`, or `512.0 MiB` below a GiB. Round needs up and free space down, so that a refusal never shows enough space. */
export function formatSize(bytes: number, round: (value: number) => number): string {
  const [unit, size] = bytes < 2 ** 30 ? ['MiB', 2 ** 20] : ['GiB', 2 ** 30];
  return `${(round((bytes / size) * 10) / 10).toFixed(1)} ${unit}`;
}

/** The format of a text; `plain` is unchanged. */
export type PaintStyle = 'plain' | 'dim' | 'red' | 'yellow' | 'green';

/** Gives a text the colour of its meaning. */
export type Paint = (style: PaintStyle, text: string) => string;

/** No colours. */
export const unpainted: Paint = (_style, text) => text;

/**
 * Text with each run of control characters replaced by a blank. Names and details may come from a bundle or a server; they
 * must not move the cursor or colour the terminal.
 */
export function terminalSafe(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ');
}

/** Seconds by which clocks may differ: the leeway that a secretstore has by default. */
export const maxSkewS = 60;

/** `12 s ahead of` or `12 s behind`; `skewS` is positive when the clock of this host is ahead. */
export function formatSkew(skewS: number): string {
  return `${Math.abs(skewS)} s ${skewS > 0 ? 'ahead of' : 'behind'}`;
}

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

/** The remedy for a text in another encoding. */
export const saveAsUtf8 = 'save it as UTF-8';

/** In which encoding a text is, which was decoded as UTF-8; null where nothing contradicts UTF-8. */
export function encodingFault(text: string): string | null {
  if (/^(\ufffd\ufffd\0\0|\0\0\ufffd\ufffd|[^\0]\0\0\0[^\0]\0\0\0|\0\0\0[^\0]\0\0\0[^\0])/.test(text))
    return 'is UTF-32';
  if (/^(\ufffd\ufffd[^]?\0|[^\0]\0[^\0]\0|\0[^\0]\0[^\0])/.test(text)) return 'is UTF-16';
  return text.includes('\ufffd') ? 'is not UTF-8' : null;
}

/** True for a base address of a service. Whether `http:` is allowed depends on the transport: see combinations.ts. */
export function isServiceUrl(text: string): boolean {
  return /^https?:\/\/[^/?#@\\\s]+(\/[^?#@\\\s]*)?$/.test(text) && URL.canParse(text);
}

/** True for an RFC 3339 time, as far as `Date` parses it. */
export function isTimestamp(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT/.test(text) && !Number.isNaN(Date.parse(text));
}

/** True for an RFC 3339 time of a day that exists. */
export function isDateTime(text: string): boolean {
  const time = /^\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/;
  return time.test(text) && isDay(text.slice(0, 10));
}

/** False for the 31st of November, which `Date` takes for the next day. */
export function isDay(date: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(date) && new Date(date).getUTCDate() === Number(date.slice(-2));
}

/** The formats of texts that schemas name. Compiled validators import them from here. */
export const formats = { 'service-url': isServiceUrl, time: isTimestamp };
