import type { Command } from 'commander';
import { createApi, type Api } from './api/client.ts';
import { connectionOf } from './config/connection.ts';
import { exits, type Exit } from './ctlError.ts';
import { systemClock, type Clock, type Io } from './io.ts';
import { fieldsOfError, formatError, formatErrorJson } from './output/printError.ts';
import { harmlessJson } from './output/text.ts';

/** Options that every command has. */
export interface CommonOptions {
  url?: string;
  tokenFile?: string;
  caFile?: string;
  config?: string;
  json?: boolean;
}

/** What a command works with. */
export interface Session {
  readonly io: Io;
  readonly options: CommonOptions;
  /** The API by the settings; the same at each call. Throws CtlErrors. */
  readonly api: () => Promise<Api>;
  /** Columns of the terminal, no limit elsewhere. */
  readonly width: number;
  /** Milliseconds since 1970, when the command began. */
  readonly nowMs: number;
  readonly clock: Clock;
}

/** What a command tells: the API's object for programs, text for people. */
export interface Result {
  json: object;
  text: string;
  exit?: Exit;
}

/** What a command does with its operands and options. */
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
        io.stdout.write(`${options.json ? harmlessJson(json) : text}\n`);
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
    api: () => (api ??= connectionOf(options, io.env).then((connection) => createApi(connection, clock))),
    width: io.stdout.isTTY ? (io.stdout.columns ?? 80) : Infinity,
    nowMs: Date.now(),
    clock,
  };
  const close = () => void api?.then((opened) => opened.close()).catch(() => undefined);
  return { session, close };
}
