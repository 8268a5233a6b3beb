export type Level = 'error' | 'warn' | 'info' | 'debug';

/** Fields at the end of a line. */
export type Fields = Readonly<Record<string, string | number | boolean | null>>;

/** One line before formatting. */
export interface Entry {
  level: Level;
  message: string;
  fields: Fields;
}

/** Format of a line. */
export interface LineStyle {
  format: 'journal' | 'json' | 'pretty';
  /** True to write the priority prefix that systemd's journal reads. */
  priorities: boolean;
  colours: boolean;
}

const priorities: Readonly<Record<Level, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

const colours: Readonly<Record<Level, number>> = { error: 31, warn: 33, info: 32, debug: 36 };

/** Formats an entry as one line without a newline; line breaks and control characters are escaped. */
export function formatLine(entry: Entry, style: LineStyle, now: Date): string {
  switch (style.format) {
    case 'json':
      return JSON.stringify({
        time: now.toISOString(),
        level: entry.level,
        message: entry.message,
        fields: entry.fields,
      });
    case 'pretty':
      return formatPretty(entry, style.colours, now);
    case 'journal':
      return `${style.priorities ? `<${priorities[entry.level]}>` : ''}${formatPlain(entry.message, entry.fields)}`;
  }
}

/** Escapes control characters and line separators, so that the text stays on one line. */
function escapeControlCharacters(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029]/gu, (character) => {
    const escaped = JSON.stringify(character).slice(1, -1);
    return escaped === character ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : escaped;
  });
}

function formatPretty({ level, message, fields }: Entry, coloured: boolean, now: Date): string {
  const paint = (code: number, text: string) => (coloured && text !== '' ? `\x1b[${code}m${text}\x1b[0m` : text);
  const { tick, ...others } = fields;
  const tickField = tick === undefined ? '' : formatPlain('', { tick });
  const time = now.toTimeString().slice(0, 8);
  return `${paint(2, time)} ${paint(colours[level], level.padEnd(5))} ${formatPlain(message, others)}${paint(2, tickField)}`;
}

function formatPlain(message: string, fields: Fields): string {
  return (
    escapeControlCharacters(message) +
    Object.entries(fields)
      .map(([key, value]) => ` ${key}=${quoteIfNeeded(value)}`)
      .join('')
  );
}

function quoteIfNeeded(value: Fields[string]): string {
  const text = String(value);
  return /^[^\s"=\\\p{Cc}]+$/u.test(text) ? text : escapeControlCharacters(JSON.stringify(text));
}
