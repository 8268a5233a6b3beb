import type { Command } from 'commander';
import { type Api, createApi, cureOf } from '../core/client.ts';
import {
  type BundleRefusal,
  type Clock,
  CtlError,
  type CtlErrorFields,
  type Exit,
  exits,
  type Io,
  systemClock,
  usageError,
} from '../core/ctlError.ts';
import { harmless, harmlessJson } from '../core/table.ts';
import { connectionOf } from './connection.ts';

/** Options of every command. */
interface CommonOptions {
  url?: string;
  tokenFile?: string;
  caFile?: string;
  config?: string;
  json?: boolean;
}

/** The tools of a command. */
export interface Session {
  readonly io: Io;
  readonly options: CommonOptions;
  /** Returns the API for the settings, the same one at each call. Throws CtlErrors. */
  readonly api: () => Promise<Api>;
  /** Columns of the terminal; no limit for other outputs. */
  readonly width: number;
  /** Milliseconds since 1970, when the command began. */
  readonly nowMs: number;
  readonly clock: Clock;
}

/** The result of a command: the API's object for programs, text for people. */
export interface Result {
  json: object;
  /** Null if the command has printed its result. */
  text: string | null;
  exit?: Exit;
}

/** The work of a command, with its operands and options. */
type Work<P extends Operands, O> = (session: Session, operands: P, options: O) => Promise<Result>;
type Operands = (string | string[] | undefined)[];

/** Makes the action of a command from its work. */
export type Run = <P extends Operands, O>(work: Work<P, O>) => (...all: [...P, O, Command]) => Promise<void>;

/** Runs commands on `io`; the exit code of each goes to `ended`. */
export function createRun(io: Io, ended: (exit: Exit) => void): Run {
  return <P extends Operands, O>(work: Work<P, O>) =>
    async (...all: [...P, O, Command]) => {
      const [own, command] = all.slice(-2) as [O, Command];
      const options = command.optsWithGlobals<CommonOptions>();
      const { session, close } = openSession(io, options);
      try {
        const { json, text, exit } = await work(session, all.slice(0, -2) as P, own);
        if (text !== null) io.stdout.write(`${options.json ? harmlessJson(json) : text}\n`);
        ended(exit ?? exits.done);
      } catch (error) {
        const fields = fieldsOfError(error);
        io.stderr.write(`${options.json ? formatErrorJson(fields) : formatError(fields)}\n`);
        ended(fields.exit);
      } finally {
        close();
      }
    };
}

function openSession(io: Io, options: CommonOptions): { session: Session; close: () => void } {
  let api: Promise<Api> | undefined;
  const { clock = systemClock } = io;
  const session: Session = {
    io,
    options,
    api: () => (api ??= connectionOf(options, io).then((connection) => createApi(connection, clock))),
    width: io.stdout.isTTY ? (io.stdout.columns ?? 80) : Infinity,
    nowMs: Date.now(),
    clock,
  };
  const close = () => void api?.then((opened) => opened.close()).catch(() => undefined);
  return { session, close };
}

/** Options of a command whose answer holds a credential. */
export interface RevealOptions {
  output?: string;
  show?: boolean;
}

/**
 * Throws if a credential would be printed to a terminal, which keeps it in its scrollback. Called before the reveal,
 * which would invalidate the previous credential.
 */
export function requireDestination({ io }: Session, { output, show = false }: RevealOptions): void {
  if (output !== undefined || show || !io.stdout.isTTY) return;
  throw usageError('TERMINAL', 'the answer holds a credential, and this is a terminal', 'add --output, or --show');
}

/** The message for any error; for an unexpected one only its class, because the error may contain the bearer. */
function fieldsOfError(error: unknown): CtlErrorFields {
  if (error instanceof CtlError) return error.fields;
  const kind = error instanceof Error ? error.constructor.name : typeof error;
  return { exit: exits.failed, code: 'INTERNAL', message: `an error of deployctl itself (${kind})` };
}

/** Formats an error for people: code and message, each refusal, and the remedy. */
function formatError({ code, message, remedy, details = [], refusals = [] }: CtlErrorFields): string {
  const lines = refusals.flatMap(formatRefusal);
  const advice = remedy === undefined || refusals.length > 0 ? [] : remedy.split('\n').map((line) => `  → ${line}`);
  return [`deployctl: ${code}: ${message}`, ...details.map((line) => `  ${line}`), ...lines, ...advice]
    .map(harmless)
    .join('\n');
}

/** Formats each fault with its remedy; a fault without one gets the remedy of its code. */
function formatRefusal({ code, detail, faults = [{ text: detail, cure: '' }] }: BundleRefusal): string[] {
  return faults.flatMap(({ text, cure }) => {
    const advice = cure || cureOf(code);
    return [`  refused: ${code}: ${text}`, ...(advice === undefined ? [] : [`    → ${advice}`])];
  });
}

/** Formats an error for programs, in the form of the API's error body. */
function formatErrorJson({ code, message, details = [], refusals = [] }: CtlErrorFields): string {
  const more = { ...(details.length > 0 && { details }), ...(refusals.length > 0 && { refusals }) };
  return harmlessJson({ error: { code, message, ...more } });
}
