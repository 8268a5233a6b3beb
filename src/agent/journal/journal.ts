import { fstatSync } from 'node:fs';
import winston from 'winston';
import { lineOf, type Entry, type Fields, type Level, type Style } from './line.ts';
import type { LiveLine } from './liveLine.ts';
import type { Redactor } from '../secrets/redact.ts';
import { createSink, patienceMs, type Stderr } from './sink.ts';

/** The agent's log: one fact a line, every line redacted, nothing lost on exit (spec §14). */
export interface Journal {
  error(line: string, fields?: Fields): void;
  warn(line: string, fields?: Fields): void;
  info(line: string, fields?: Fields): void;
  debug(line: string, fields?: Fields): void;
  /** A foreign output, each of its lines as one line that begins with `| `. */
  block(level: Level, text: string): void;
  /** The same journal with `tick=<id>` at the end of every line. */
  forTick(id: string): Journal;
  /** Resolves when the reader has taken what it was too slow for, or five seconds later. */
  flush(): Promise<void>;
}

export interface JournalOptions {
  format: 'auto' | 'journal' | 'json' | 'pretty';
  level: Level;
  /** Asked for every line, as the vault learns secrets while the tick runs. */
  redact: () => Redactor;
  stderr: Stderr;
  isTerminal: boolean;
  /** `<device>:<inode>` of the stream that systemd's journal reads; by default what systemd says in JOURNAL_STREAM. */
  journalStream?: string | undefined;
  /** The line at the bottom of the terminal that the journal's lines go above. */
  live?: LiveLine | null;
}

const levels: Readonly<Record<Level, number>> = { error: 0, warn: 1, info: 2, debug: 3 };

export function createJournal(options: JournalOptions): Journal {
  const style = styleOf(options);
  const logger = winston.createLogger({
    levels,
    level: options.level,
    format: winston.format.printf((info) => info.message as string),
  });
  // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- winston declares its own transports as interfaces
  logger.add(new winston.transports.Stream({ stream: createSink(options.stderr), eol: '\n' }));
  const write = (entry: Entry) => {
    if (levels[entry.level] > levels[options.level]) return;
    const line = redactedLine(entry, style, options.redact());
    const log = () => void logger.log(entry.level, line);
    if (options.live) options.live.above(log);
    else log();
  };
  const flush = () =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, patienceMs);
      options.stderr.write('', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  return journalOf({ write, redact: options.redact, flush }, {});
}

interface Writer {
  write(entry: Entry): void;
  redact: () => Redactor;
  flush(): Promise<void>;
}

function journalOf(writer: Writer, always: Fields): Journal {
  const at =
    (level: Level) =>
    (message: string, fields: Fields = {}) =>
      writer.write({ level, message, fields: { ...fields, ...always } });
  return {
    error: at('error'),
    warn: at('warn'),
    info: at('info'),
    debug: at('debug'),
    block: (level, text) => {
      const lines = writer
        .redact()
        .redact(text)
        .trimEnd()
        .split(/\r\n|\n|\r/);
      for (const line of lines) at(level)(`| ${line}`);
    },
    forTick: (id) => journalOf(writer, { ...always, tick: id }),
    flush: () => writer.flush(),
  };
}

/** Redacts before formatting, which could disguise a secret, and after, which could put one together. */
function redactedLine({ level, message, fields }: Entry, style: Style, redactor: Redactor): string {
  const redactValue = (value: Fields[string]) => (typeof value === 'string' ? redactor.redact(value) : value);
  const entries = Object.entries(fields).map(([key, value]) => [key, redactValue(value)]);
  const entry = { level, message: redactor.redact(message), fields: Object.fromEntries(entries) as Fields };
  const now = new Date();
  const line = lineOf(entry, style, now);
  const redacted = redactor.redact(line);
  const broken = style.format === 'json' && redacted !== line;
  return broken ? lineOf({ level, message: redacted, fields: {} }, style, now) : redacted;
}

function styleOf(options: JournalOptions): Style {
  const automatic = options.isTerminal ? 'pretty' : 'journal';
  const format = options.format === 'auto' ? automatic : options.format;
  const journalStream = 'journalStream' in options ? options.journalStream : process.env['JOURNAL_STREAM'];
  return { format, priorities: isReadBySystemd(options.stderr.fd, journalStream), colours: options.isTerminal };
}

function isReadBySystemd(fd: number | undefined, journalStream: string | undefined): boolean {
  if (typeof fd !== 'number' || journalStream === undefined) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return journalStream === `${dev}:${ino}`;
}
