export type Level = 'error' | 'warn' | 'info' | 'debug';

/** Facts at the end of a line. */
export type Fields = Readonly<Record<string, string | number | boolean | null>>;

/** One line before it is written. */
export interface Entry {
  level: Level;
  message: string;
  fields: Fields;
}

/** How an entry becomes text; `redact` has been through the entry's own strings already. */
export interface Style {
  format: 'journal' | 'json' | 'pretty';
  /** Whether systemd's journal reads the stream, and with it the priority prefix. */
  priorities: boolean;
  colours: boolean;
}

const priorities: Readonly<Record<Level, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

const colours: Readonly<Record<Level, number>> = { error: 31, warn: 33, info: 32, debug: 36 };

/** The entry as one line of text, without its line end; line breaks and control characters are escaped. */
export function lineOf(entry: Entry, style: Style, now: Date): string {
  switch (style.format) {
    case 'json':
      return JSON.stringify({
        time: now.toISOString(),
        level: entry.level,
        message: entry.message,
        fields: entry.fields,
      });
    case 'pretty':
      return prettyLine(entry, style.colours, now);
    case 'journal':
      return `${style.priorities ? `<${priorities[entry.level]}>` : ''}${plainLine(entry.message, entry.fields)}`;
  }
}

/** Text that stays on its line: control characters and line separators as escapes. */
export function oneLine(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (character) => {
    const escaped = JSON.stringify(character).slice(1, -1);
    return escaped === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : escaped;
  });
}

function prettyLine({ level, message, fields }: Entry, coloured: boolean, now: Date): string {
  const paint = (code: number, text: string) => (coloured && text !== '' ? `\x1b[${code}m${text}\x1b[0m` : text);
  const { tick, ...others } = fields;
  const ticked = tick === undefined ? '' : plainLine('', { tick });
  const time = now.toTimeString().slice(0, 8);
  return `${paint(2, time)} ${paint(colours[level], level.padEnd(5))} ${plainLine(message, others)}${paint(2, ticked)}`;
}

function plainLine(message: string, fields: Fields): string {
  return (
    oneLine(message) +
    Object.entries(fields)
      .map(([key, value]) => ` ${key}=${quoteWhereNeeded(value)}`)
      .join('')
  );
}

function quoteWhereNeeded(value: Fields[string]): string {
  const text = String(value);
  return /^[^\s"=\\\p{Cc}]+$/u.test(text) ? text : oneLine(JSON.stringify(text));
}
