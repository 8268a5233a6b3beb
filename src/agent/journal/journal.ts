import { fstatSync } from 'node:fs';
import winston from 'winston';
import { formatLine, type Entry, type Fields, type Level, type LineStyle } from './journalLine.ts';
import type { LiveLine } from './liveLine.ts';
import type { Redactor } from '../secrets/redaction/redactor.ts';
import { createSink, maxWaitMs, type Stderr } from './sink.ts';

/** The log of the agent: every line is redacted, and nothing is lost on exit (spec §14). */
export interface Journal {
  error(line: string, fields?: Fields): void;
  warn(line: string, fields?: Fields): void;
  info(line: string, fields?: Fields): void;
  debug(line: string, fields?: Fields): void;
  /** Logs the output of another program, each line with the prefix `| `. */
  block(level: Level, text: string): void;
  /** The same journal with the field `tick=<id>` on every line. */
  forTick(id: string): Journal;
  /** Resolves when the reader has read all queued lines, or after five seconds. */
  flush(): Promise<void>;
}

export interface JournalOptions {
  format: 'auto' | 'journal' | 'json' | 'pretty';
  level: Level;
  /** Called for every line, since the vault receives secrets while the tick runs. */
  redact: () => Redactor;
  stderr: Stderr;
  isTerminal: boolean;
  /** `<device>:<inode>` of the stream that systemd's journal reads; by default JOURNAL_STREAM of the environment. */
  journalStream?: string | undefined;
  /** Live line at the bottom of the terminal; journal lines are written above it. */
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
      const timer = setTimeout(resolve, maxWaitMs);
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

function journalOf(writer: Writer, commonFields: Fields): Journal {
  const writeAt =
    (level: Level) =>
    (message: string, fields: Fields = {}) =>
      writer.write({ level, message, fields: { ...fields, ...commonFields } });
  return {
    error: writeAt('error'),
    warn: writeAt('warn'),
    info: writeAt('info'),
    debug: writeAt('debug'),
    block: (level, text) => {
      const lines = writer
        .redact()
        .redact(text)
        .trimEnd()
        .split(/\r\n|\n|\r/);
      for (const line of lines) writeAt(level)(`| ${line}`);
    },
    forTick: (id) => journalOf(writer, { ...commonFields, tick: id }),
    flush: () => writer.flush(),
  };
}

/** Redacts before formatting, which could obscure a secret, and after it, because formatting could assemble one. */
function redactedLine({ level, message, fields }: Entry, style: LineStyle, redactor: Redactor): string {
  const redactValue = (value: Fields[string]) => (typeof value === 'string' ? redactor.redact(value) : value);
  const entries = Object.entries(fields).map(([key, value]) => [key, redactValue(value)]);
  const entry = { level, message: redactor.redact(message), fields: Object.fromEntries(entries) as Fields };
  const now = new Date();
  const line = formatLine(entry, style, now);
  const redacted = redactor.redact(line);
  const isBrokenJson = style.format === 'json' && redacted !== line;
  return isBrokenJson ? formatLine({ level, message: redacted, fields: {} }, style, now) : redacted;
}

function styleOf(options: JournalOptions): LineStyle {
  const autoFormat = options.isTerminal ? 'pretty' : 'journal';
  const format = options.format === 'auto' ? autoFormat : options.format;
  const journalStream = 'journalStream' in options ? options.journalStream : process.env['JOURNAL_STREAM'];
  return { format, priorities: isReadBySystemd(options.stderr.fd, journalStream), colours: options.isTerminal };
}

function isReadBySystemd(fd: number | undefined, journalStream: string | undefined): boolean {
  if (typeof fd !== 'number' || journalStream === undefined) return false;
  const { dev, ino } = fstatSync(fd, { bigint: true });
  return journalStream === `${dev}:${ino}`;
}
