import { InvalidArgumentError } from 'commander';
import { maxPushedSequence } from '../../api/checkIn.rules.ts';
import { parseWave, parseWindow, type PlannedWave } from '../../api/rolloutPlan.rules.ts';
import type { TimeWindow } from '../../api/timeWindow.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import { collectBytes } from '../../core/streams.ts';
import { type Api, path } from './client.ts';
import { CtlError, exits, type Io, usageError } from './ctlError.ts';

/** A whole number of 1 or more. */
export function countOption(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of 1 or more.');
  return Number(text);
}

/** A sequence that a push may have, or 0. */
export function sequenceOption(text: string): number {
  if (!/^\d{1,15}$/.test(text) || Number(text) > maxPushedSequence)
    throw new InvalidArgumentError('It must be a whole number from 0 to 2^47.');
  return Number(text);
}

/** A digest of a bundle, or its first characters. */
export function shaOption(text: string): string {
  if (!/^[0-9a-f]{8,64}$/.test(text)) throw new InvalidArgumentError('It must be 8 to 64 hex digits.');
  return text;
}

/** Collects the values of an option that may be given several times. */
export function collectOption(value: string, previous: string[] = []): string[] {
  return [...previous, value];
}

/** Seconds of a duration: `45m`, `12h` or `90d`. */
export function durationOption(text: string): number {
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  if (count === '') throw new InvalidArgumentError('It must be a duration, such as 45m, 12h or 90d.');
  return Number(count) * ({ m: 60, h: 3600 }[unit] ?? 86_400);
}

/** Formats labels in the form of the option. */
export function formatLabels(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

/** Throws ENV_NOT_FOUND if a filter found nothing because there is no such environment. */
export async function requireEnv(api: Api, env: string | undefined, found: readonly unknown[]): Promise<void> {
  if (env !== undefined && found.length === 0) await api.call({ method: 'GET', path: path`/v1/envs/${env}` });
}

/** The error of a filter whose value nothing has. */
export function unknownFilter(message: string, remedy: string): CtlError {
  return new CtlError({ exit: exits.failed, code: 'FILTER_UNKNOWN', message, remedy });
}

/** Parses a wave with `parseWave`; collects the waves of several options. */
export function waveOption(text: string, previous: PlannedWave[] = []): PlannedWave[] {
  const wave = parseWave(text);
  if (wave !== null) return [...previous, wave];
  throw new InvalidArgumentError(
    'It must be a number of hosts, a percentage from 1% to 100%, or all, perhaps with :NAME=VALUE,…, each name once.',
  );
}

/** Parses a window with `parseWindow`; collects the windows of several options. */
export function windowOption(text: string, previous: TimeWindow[] = []): TimeWindow[] {
  const window = parseWindow(text);
  if (window !== null) return [...previous, window];
  throw new InvalidArgumentError("It must be like 'mon-fri 08:30+90 Europe/Berlin': days, start, minutes, time zone.");
}

/** A whole number of 0 or more. */
export function numberOption(text: string): number {
  if (!/^(0|[1-9]\d{0,8})$/.test(text)) throw new InvalidArgumentError('It must be a whole number of 0 or more.');
  return Number(text);
}

/**
 * Reads a value that must not be on the command line: from a file, otherwise from standard input without its last
 * newline.
 */
export async function readValue(
  io: Pick<Io, 'stdin' | 'stderr'>,
  file: string | undefined,
  prompt: string,
): Promise<string> {
  if (file !== undefined) return textOf(readFileOf(file));
  if (readInputs.has(io.stdin))
    throw usageError(
      'INPUT_TAKEN',
      'standard input gives another value already',
      'name a file, or /dev/fd/3, for one of the two',
    );
  readInputs.add(io.stdin);
  if (io.stdin.isTTY) return readHidden(io, prompt);
  return textOf(await collectBytes(io.stdin, { maxBytes, tooLarge })).replace(/\r?\n$/, '');
}

/** Inputs that were already read; reading them again would return nothing. */
const readInputs = new WeakSet<Io['stdin']>();

/** The secretstore limits a request to 32 MiB; a variable of a process has at most 128 KiB. */
const maxBytes = 1_048_576;

function readFileOf(file: string): Buffer {
  try {
    return readRegularFile(file, maxBytes);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw code === 'EFBIG' ? tooLarge() : usageError('FILE_UNREADABLE', `${file} cannot be read (${code})`);
  }
}

function tooLarge(): Error {
  return usageError('VALUE_INVALID', `the value has more than ${maxBytes} bytes`);
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw usageError('VALUE_INVALID', 'the value is not UTF-8 text');
  }
}

/** Reads one line from the terminal, without echo. Ctrl-C and Ctrl-D cancel. */
export async function readHidden({ stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>, prompt: string): Promise<string> {
  stderr.write(`${prompt}: `);
  stdin.setRawMode?.(true);
  stdin.setEncoding('utf8');
  let line = '';
  try {
    for await (const chunk of stdin as AsyncIterable<string>) {
      for (const key of chunk) {
        if (key === '\r' || key === '\n') return line;
        if (key === '\u0003' || key === '\u0004') throw interrupted();
        line = key === '\u007f' || key === '\b' ? line.slice(0, -1) : line + key;
      }
    }
    return line;
  } finally {
    stdin.setRawMode?.(false);
    stderr.write('\n');
  }
}

/** Reads one line from the terminal, which shows it; more lines can be read afterwards. */
export async function readAnswer({ stdin, stderr }: Pick<Io, 'stdin' | 'stderr'>, prompt: string): Promise<string> {
  stderr.write(`${prompt} `);
  stdin.setEncoding('utf8');
  let line = '';
  for await (const chunk of stdin.iterator({ destroyOnReturn: false }) as AsyncIterable<string>) {
    line += chunk;
    const [answer = '', ...rest] = line.split(/[\r\n]/);
    if (rest.length === 0) continue;
    stdin.unshift(rest.join('\n'));
    stdin.pause();
    return answer;
  }
  return line;
}

function interrupted(): CtlError {
  return new CtlError({ exit: exits.failed, code: 'INTERRUPTED', message: 'nothing was given' });
}

const maxSmallBytes = 65_536;

/** Reads the text of a file of at most 64 KiB. Throws FILE_UNREADABLE. */
export function readSmallFile(file: string): string {
  try {
    return readRegularFile(file, maxSmallBytes).toString('utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw usageError('FILE_UNREADABLE', `${file} cannot be read (${code})`);
  }
}
