import { type Command, InvalidArgumentError, Option } from 'commander';
import { backend as lifeOfBackend } from '../../../machines/backend.ts';
import { maxPushedSequence } from '../../api/checkIn.rules.ts';
import { parseWave, parseWindow, type PlannedWave } from '../../api/rolloutPlan.rules.ts';
import type { TimeWindow } from '../../api/timeWindow.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import { collectBytes } from '../../core/streams.ts';
import { type Api, path, readPages } from './client.ts';
import { CtlError, type Exit, exits, type Io, usageError } from './ctlError.ts';
import { describeHost, harmless, hostLabel } from './table.ts';
import type { Backend, Env } from './types.ts';

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

/** The environment that was named, otherwise the only one that the token may see. Throws ENV_REQUIRED. */
export async function envOf({ api }: { api: () => Promise<Api> }, named: string | undefined): Promise<string> {
  if (named !== undefined) return named;
  const { envs } = await (await api()).call<{ envs: Env[] }>({ method: 'GET', path: '/v1/envs' });
  const [only, ...others] = envs.map(({ name }) => name);
  if (only !== undefined && others.length === 0) return only;
  throw only === undefined
    ? usageError('ENV_REQUIRED', 'there is no environment yet', '`deployctl env create NAME`')
    : usageError('ENV_REQUIRED', `there are several environments: ${[only, ...others].join(', ')}`, 'name one of them');
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

/** Conditions for hosts; all must hold. */
export interface HostFilter {
  env?: string;
  state?: string[];
  search?: string;
  behind?: true;
  sick?: true;
  cloned?: true;
  deferredBy?: string;
  differs?: true;
  swarm?: string;
}

/** The options that select hosts. */
export function hostFilters(command: Command, { bySwarm = true }: { bySwarm?: boolean } = {}): Command {
  if (bySwarm) command.option('--swarm <id>', 'only managers of this swarm');
  return command
    .option('--env <env>', 'only of this environment')
    .addOption(
      new Option('--state <state...>', 'only hosts in these states').choices(Object.keys(lifeOfBackend.states)),
    )
    .option(
      '--search <text>',
      'text in the name, the site, a label or the agent version, or at the beginning of the id',
    )
    .option('--behind', 'only hosts that do not run the desired bundle')
    .option('--sick', 'only hosts that are unhealthy, or whose latest report is a failure')
    .option('--cloned', 'only hosts whose token another host uses too')
    .addOption(
      new Option('--deferred-by <what>', 'only hosts that are paused by a hold or a maintenance window').choices([
        'hold',
        'window',
      ]),
    )
    .option('--differs', 'only hosts whose settings differ from the settings of their environment');
}

/** The conditions as parameters of the API. Options that are not set are left out: an older service knows only `env` and one `state`. */
export function filterQuery({ env, state, search, deferredBy: deferred_by, swarm, ...flags }: HostFilter) {
  const { behind, sick, cloned, differs } = flags;
  const chosen = Object.entries({ behind, sick, cloned, differs }).filter(([, isChosen]) => isChosen);
  const conditions = Object.fromEntries(chosen.map(([name]) => [name, 'true']));
  return { env, state: state?.join(','), q: search, ...conditions, deferred_by, swarm };
}

/** Options of a command that changes several hosts. */
export interface BulkOptions extends HostFilter {
  confirm?: boolean;
}

function hasFilter(options: HostFilter): boolean {
  return Object.values(filterQuery(options)).some((value) => value !== undefined);
}

/** Throws if hosts are selected beside the one that is named. */
export function requireNoFilter(options: HostFilter): void {
  if (hasFilter(options)) throw usageError('NAME_INVALID', 'name one host, or select hosts by options, not both');
}

/** Hosts that a preview lists. */
const listedHosts = 50;

/**
 * Lists the hosts that match filters, and asks whether to change them. Throws FILTER_UNKNOWN if there is none,
 * CONFIRM_REQUIRED without a terminal, and NOT_CONFIRMED.
 */
export async function chooseHosts(
  session: { io: Io; api: () => Promise<Api> },
  options: BulkOptions,
  act: string,
): Promise<Backend[]> {
  const { io } = session;
  if (!hasFilter(options)) throw usageError('NAME_INVALID', 'name a host, or select hosts by options such as --env');
  const { state = ['invited', 'active', 'offline'] } = options;
  const api = await session.api();
  const call = { path: '/v1/backends', key: 'backends', cursor: 'after', limit: Infinity } as const;
  const { backends } = await readPages<'backends', Backend>(api, {
    ...call,
    query: filterQuery({ ...options, state }),
  });
  await requireEnv(api, options.env, backends);
  if (backends.length === 0) throw unknownFilter('no host matches', '`deployctl host list`');
  const more = backends.length > listedHosts ? [`and ${backends.length - listedHosts} more`] : [];
  const what = `${act} ${backends.length} ${backends.length === 1 ? 'host' : 'hosts'}`;
  const lines = [`this will ${what}:`, ...backends.slice(0, listedHosts).map(describeHost), ...more];
  io.stderr.write(`${lines.map((line, index) => harmless(index === 0 ? line : `  ${line}`)).join('\n')}\n`);
  if (options.confirm === true) return backends;
  if (!io.stdin.isTTY)
    throw new CtlError({
      exit: exits.failed,
      code: 'CONFIRM_REQUIRED',
      message: 'nothing was changed',
      remedy: 'add --confirm to change these hosts',
    });
  const answer = await readAnswer(io, `type ${backends.length} to ${what}:`);
  if (answer.trim() === String(backends.length)) return backends;
  throw new CtlError({ exit: exits.failed, code: 'NOT_CONFIRMED', message: 'nothing was changed' });
}

/** Changes hosts one after another; a failure does not stop the others, but the exit code is 1. */
export async function forEachHost(
  hosts: readonly Backend[],
  change: (host: Backend) => Promise<{ json: object; line: string }>,
): Promise<{ json: object; text: string; exit: Exit }> {
  const results: { id: string; isDone: boolean; json: object; line: string }[] = [];
  for (const host of hosts) {
    const { id } = host;
    const made = await change(host).then(
      (done) => ({ ...done, isDone: true }),
      (error: unknown) => {
        if (!(error instanceof CtlError)) throw error;
        const { code, message } = error.fields;
        return { json: { error: { code, message } }, line: `${code}: ${message}`, isDone: false };
      },
    );
    results.push({ id, ...made, line: `${hostLabel(host)}: ${made.line}` });
  }
  return {
    json: { hosts: results.map(({ id, json }) => ({ id, ...json })) },
    text: results.map(({ line }) => harmless(line)).join('\n'),
    exit: results.every(({ isDone }) => isDone) ? exits.done : exits.failed,
  };
}
