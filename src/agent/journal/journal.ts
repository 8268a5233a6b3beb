import { fstatSync } from 'node:fs';
import winston from 'winston';
import { Fault } from '../../../machines/fault.ts';
import type { ServiceReplacement } from '../../api/agentSchemas.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { Vault } from '../secrets/vault.ts';
import { type LiveLine, type Progress, createSink, maxWaitMs, type Stderr, writeThrough } from './terminal.ts';

/** A running tick, as far as every one of its services knows it. */
export interface RunningTick {
  readonly id: string;
  readonly clock: TickClock;
  readonly journal: TickJournal;
}

/** When a tick started, and how long its services took. */
interface TickClock {
  readonly startedAt: Date;
  /** Milliseconds by service name. */
  readonly durationsMs: Record<string, number>;
}

/** The journal of one tick. */
interface TickJournal extends Journal {
  /** Lines in its report and status in addition to the lines of the outcome. */
  readonly remarks: string[];
  /** How an apply has replaced services; only its report contains them. */
  replaced: readonly ServiceReplacement[];
  /** Progress of the running service; null when the service does not measure it. */
  progress: (() => Progress | Promise<Progress>) | null;
}

/** The journal of a tick that begins. */
export function openTickJournal(journal: Journal, id: string): TickJournal {
  return { ...journal.forTick(id), remarks: [], replaced: [], progress: null };
}

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

type Level = 'error' | 'warn' | 'info' | 'debug';

/** Fields at the end of a line. */
type Fields = Readonly<Record<string, string | number | boolean | null>>;

/** One line before formatting. */
interface Entry {
  level: Level;
  message: string;
  fields: Fields;
}

/** Format of a line. */
interface LineStyle {
  format: 'journal' | 'json' | 'pretty';
  /** True to write the priority prefix that systemd's journal reads. */
  priorities: boolean;
  colours: boolean;
}

const priorities: Readonly<Record<Level, number>> = { error: 3, warn: 4, info: 6, debug: 7 };

const colours: Readonly<Record<Level, number>> = { error: 31, warn: 33, info: 32, debug: 36 };

/** Formats an entry as one line without a newline; line breaks and control characters are escaped. */
function formatLine(entry: Entry, style: LineStyle, now: Date): string {
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

/** Maximum number of stack frames in a crash line. */
const maxFrames = 4;

/**
 * Ends the process with exit code 1 on any uncaught error, after one redacted line with the class and the stack frames
 * of the error. The message is omitted, since a foreign error may contain the bearer token (spec §14).
 */
export function installCrashHandlers(target: Pick<Journal, 'error'> | Stderr, redact: () => Redactor): void {
  const print = (line: string) => ('error' in target ? target.error(line) : writeThrough(target, `${line}\n`));
  const crash = (error: unknown) => {
    try {
      print(redact().redact(crashLine(error)));
    } catch {
      print('failed: internal error');
    } finally {
      process.exit(1);
    }
  };
  process.on('uncaughtException', crash);
  process.on('unhandledRejection', crash);
}

function crashLine(error: unknown): string {
  if (!(error instanceof Error)) return `failed: internal error (${typeof error})`;
  return [`failed: internal error (${classNameOf(error)})`, framesOf(error).join(', ')]
    .filter((part) => part !== '')
    .join(' at ');
}

/** The name of the error's class; the property `name` may contain anything. */
function classNameOf(error: Error): string {
  const kind = error.constructor.name;
  return /^[A-Za-z_]\w{0,40}$/.test(kind) ? kind : 'Error';
}

/** The first stack frames: the lines after the message. */
function framesOf({ stack, message }: Error): string[] {
  const text = stack ?? '';
  const lines = text.slice(Math.max(0, text.indexOf(message)) + message.length).split('\n');
  const frames = lines.slice(lines.findLastIndex((line) => !line.startsWith('    at ')) + 1);
  return frames
    .map((frame) => frame.slice('    at '.length))
    .filter((frame) => /:\d+:\d+\)?$/.test(frame))
    .slice(0, maxFrames);
}

/** Maximum number of characters of a line that are kept; most of them may come from an engine. */
const maxLine = 2000;

/** The same fault with redacted lines, which may be logged, stored and reported. */
export function redactFault({ vault }: { vault: Vault }, fault: Fault): Fault {
  const { ending, code, tail } = fault;
  const [line = '', ...moreLines] = fault.lines.map((text) => vault.redactor().redact(text).slice(0, maxLine));
  return new Fault(ending, line, { ...(code && { code }), ...(tail && { tail }), moreLines });
}

/** The result of an operation, or its Fault as a value; other errors are thrown. */
export async function catchFault<T>(operation: () => Promise<T>): Promise<T | Fault> {
  return operation().catch((error: unknown) => {
    if (error instanceof Fault) return error;
    throw error;
  });
}

/** Lines of one kind in a report. */
const maxLines = 20;

/** Writes warnings, which refuse nothing, to the journal and the report; lines that are already there are left out. */
export function tellRemarks(tick: RunningTick, kind: string, found: readonly string[]): void {
  const lines = found.map((each) => `${kind}: ${each}`).filter((line) => !tick.journal.remarks.includes(line));
  const more = lines.length > maxLines ? [`${kind}: and ${lines.length - maxLines} more`] : [];
  for (const line of [...lines.slice(0, maxLines), ...more]) {
    tick.journal.info(line);
    tick.journal.remarks.push(line);
  }
}
