import { join } from 'node:path';
import { Fault, outcomeOf } from '../../../machines/fault.ts';
import { printable, terminalSafe } from '../../core/text.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import { type Containers, createContainers } from '../engine/containers.ts';
import { LogFrames, maxPieceBytes } from '../engine/logs.rules.ts';
import type { Output, Terminal } from '../journal/terminal.ts';
import { Releases, registerHostSecrets } from '../release/releases.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { Vault } from '../secrets/vault.ts';
import { isInvalidState } from '../state/state.rules.ts';
import { readState } from '../state/stateFile.ts';
import { openCredentials } from '../token/credentials.ts';
import { type LogLine, LogLines, logSinceOf } from './logs.rules.ts';

/** Options of `deployd logs`. */
export interface LogsOptions {
  /** By default all services. */
  service: string | undefined;
  tail: number;
  /** As the operator wrote it. */
  since: string | undefined;
  follow: boolean;
  json: boolean;
  /** Collects the secret values on this host. */
  vault: Vault;
  /** Ends `follow`. */
  signal: AbortSignal;
}

interface Display {
  terminal: Terminal;
  out: Output;
}

/**
 * `deployd logs`: the output of the project's containers, without the secret values of the releases on this host. Exits
 * with 1 when the log of a container cannot be shown. Uses no network or lock and writes nothing.
 */
export async function logs(settings: Settings, given: LogsOptions, { terminal, out }: Display): Promise<number> {
  const options = { ...given, signal: AbortSignal.any([given.signal, terminal.closed]) };
  const { follow, json } = options;
  try {
    const window = windowOf(options);
    const { containers, chosen } = await findContainers(settings, options);
    await registerSecrets(settings, options.vault);
    const format = json ? formatJson : textFormatOf(chosen, terminal);
    const collected: string[] = [];
    const isCollected = !follow && !json;
    const show = (line: string) => (isCollected ? void collected.push(line) : out.log(line));
    const read = (container: ProjectContainer) =>
      readLog(containers, { ...options, container, window }, (line) => show(format(container, line)));
    const faults = follow ? await Promise.all(chosen.map(read)) : await inTurn(chosen, read);
    if (collected.length > 0) await terminal.show(collected.join('\n'));
    for (const line of faults.flat()) out.error(line);
    return faults.flat().length === 0 ? 0 : 1;
  } catch (error) {
    for (const line of outcomeOf(error, false).lines) out.error(line);
    return 1;
  }
}

function windowOf({ since, tail, follow }: LogsOptions): LogWindow {
  const time = since === undefined ? null : logSinceOf(since, new Date());
  if (since !== undefined && time === null)
    throw new Fault('failed', `--since ${printable(since)} must be like 90s, 10m, 2h, 3d or 2026-11-27T08:00`);
  return { since: time, tail, follow };
}

/** A container of the project; `label` is its name without the project's name. */
interface ProjectContainer {
  id: string;
  service: string;
  label: string;
}

async function findContainers({ container_host, env }: Settings, { service, signal }: LogsOptions) {
  const project = `deployd-${env}`;
  const containers = createContainers({ containerHost: container_host, project, signal });
  const all = (await containers.listStatuses()).map(({ id, name, service }): ProjectContainer => ({
    id,
    service,
    label: name.startsWith(`${project}-`) ? name.slice(project.length + 1) : name,
  }));
  const chosen = all.filter((each) => service === undefined || each.service === service);
  if (chosen.length > 0) return { containers, chosen };
  const names = [...new Set(all.map((each) => each.service))].sort();
  if (names.length === 0) throw new Fault('failed', 'the project has no container');
  throw new Fault('failed', `no container of a service ${printable(service ?? '')}: there are ${names.join(', ')}`);
}

async function registerSecrets(settings: Settings, vault: Vault): Promise<void> {
  const releases = new Releases(settings.state_dir, join(settings.state_dir, settings.env));
  await requireKnownValues(settings, releases);
  await registerHostSecrets({ credentials: openCredentials(settings), releases, vault });
}

/**
 * Throws if the containers may print values that this host does not have, because another manager of a swarm started
 * them.
 */
async function requireKnownValues({ state_dir }: Settings, releases: Releases): Promise<void> {
  const state = await readState(state_dir);
  if (state === null || isInvalidState(state)) return;
  for (const sha of [state.applied_sha, state.attempt?.sha ?? null])
    if (sha !== null && !(await releases.hasEnv(sha)))
      throw new Fault(
        'failed',
        `release ${sha} was applied by another host: what is secret in its logs is known there`,
      );
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await work(item));
  return results;
}

/** Reads one log; returns why it could not be shown, in lines. */
async function readLog(
  containers: Containers,
  { container, window, vault, signal }: LogsOptions & { container: ProjectContainer; window: LogWindow },
  show: (line: LogLine) => void,
): Promise<string[]> {
  try {
    for await (const line of logLines(containers, { id: container.id, window, redactor: vault.redactor() })) show(line);
    return [];
  } catch (error) {
    if (signal.aborted) return [];
    const cause = error instanceof Fault ? error.message : 'the engine ended it early';
    return [`the log of ${container.label} cannot be shown: ${cause}`];
  }
}

type Format = (container: ProjectContainer, line: LogLine) => string;

const formatJson: Format = ({ label, service }, { stream, text }) =>
  JSON.stringify({ service, container: label, stream, line: text });

/** Lines with the name of their container, without control characters for a terminal. */
function textFormatOf(all: readonly ProjectContainer[], { isInteractive, paint }: Terminal): Format {
  const width = Math.max(...all.map(({ label }) => label.length));
  return ({ label }, { stream, text }) => {
    const prefix = paint(stream === 'stderr' ? 'yellow' : 'dim', `${label.padEnd(width)} |`);
    return `${prefix} ${isInteractive ? terminalSafe(text) : text}`;
  };
}

/** The selected part of a log. */
export interface LogWindow {
  /** Maximum number of pieces, the newest; a line longer than 16 KiB has several. */
  tail: number;
  since: Date | null;
  /** Waits for new output. */
  follow: boolean;
}

type Log = Pick<Containers, 'openLog'>;
type LogQuery = Record<string, string>;

/**
 * The lines of a container's log, redacted, as they arrive; they end when the signal aborts. Throws
 * RUNTIME_UNAVAILABLE, also for an engine or a logging driver that does not return them.
 */
export async function* logLines(
  containers: Log,
  { id, window, redactor }: { id: string; window: LogWindow; redactor: Redactor },
): AsyncGenerator<LogLine> {
  const { tail, since, follow } = window;
  const range = since === null ? {} : { since: secondsOf(since) };
  const newest = { ...range, tail: String(tail + 1) };
  const { pieces, isLong } = await measure(containers, id, newest);
  const isCut = pieces > tail || isLong || (since !== null && (await hasOlder(containers, id, since)));
  // a complete log stays complete, whatever has been printed since
  const query = { ...(isCut ? newest : range), ...(follow && { follow: 'true' }) };
  const { body, splitBytes } = await containers.openLog(id, query);
  // for an engine that returns the whole log, whatever tail is requested
  const skippedPieces = isCut ? Math.max(0, pieces - tail - 1) : 0;
  const oldPieces = isCut ? pieces - skippedPieces : 0;
  const lines = new LogLines(() => redactor.redactStream(), { skippedPieces, oldPieces, splitBytes });
  const frames = new LogFrames();
  for await (const chunk of body) for (const piece of frames.push(chunk as Buffer)) yield* lines.push(piece);
  for (const piece of frames.end()) yield* lines.push(piece);
  yield* lines.end();
}

/** The number of pieces of a log, and whether a line of a terminal may have several. */
async function measure(containers: Log, id: string, query: LogQuery): Promise<{ pieces: number; isLong: boolean }> {
  const frames = new LogFrames();
  const found = { pieces: 0, isLong: false };
  const count = (pieces: ReturnType<LogFrames['push']>) => {
    found.pieces += pieces.length;
    found.isLong ||= pieces.some(({ stream, bytes }) => stream === 'terminal' && bytes.length >= maxPieceBytes);
  };
  for await (const chunk of (await containers.openLog(id, query)).body) count(frames.push(chunk as Buffer));
  count(frames.end());
  return found;
}

/**
 * Whether a log may contain the beginning of a line before `since`. Docker's own files do not, as they apply `tail`
 * before `until`: all pieces of a line have the time of its first piece, and `since` cuts no line. The journal has a
 * time for each piece.
 */
async function hasOlder(containers: Log, id: string, since: Date): Promise<boolean> {
  return (await measure(containers, id, { tail: '1', until: secondsOf(since) })).pieces > 0;
}

/** A time in the format of the engine: seconds with a fraction. */
function secondsOf(time: Date): string {
  return (time.getTime() / 1000).toFixed(3);
}
