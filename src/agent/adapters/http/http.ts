import { setTimeout as sleep } from 'node:timers/promises';
import type { Readable } from 'node:stream';
import { Fault } from '../../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import {
  placeOf,
  retryAfterOf,
  retryPauseMs,
  sortTrouble,
  type Party,
  type Trouble,
} from '../../rules/errors/classifyError.ts';
import { serverWords } from '../../../protocol/errorBody.ts';
import type { Call } from './call.ts';
import { readJson } from './json.ts';
import { send } from './nodeClient.ts';
import { codeOf, createOpener, type Headers, type Opened } from './opener.ts';
import type { Transport } from '../transport/agents.ts';

/** An answer read to its end; `json` is undefined when the body is none. */
export interface Reply {
  status: number;
  headers: Headers;
  json: unknown;
}

/** An answer whose body is still to be read; leaving its loop early closes the connection. */
export interface Flow {
  /** Who answered, as lines for people name him. */
  place: string;
  status: number;
  headers: Headers;
  body: AsyncIterable<Buffer>;
  discard: () => void;
}

/** HTTP with the agent's bounds, retries and sorting of faults; nothing but a Fault is ever thrown. */
export interface Http {
  call: (call: Call) => Promise<Reply>;
  /** `limit` bounds the flow from its start to its last byte; its reason may be the word STALLED. */
  stream: (call: Call, limit: AbortSignal) => Promise<Flow>;
}

interface HttpParts {
  settings: Settings;
  transport: Transport;
  version: string;
  /** Hears of every try that did not work. */
  note?: (trouble: { word: 'troubled'; peer: Party; error: string }) => void;
}

/** The HTTP client for both services. */
export function createHttp(parts: HttpParts): Http {
  const open = createOpener(parts);
  const begin = (call: Call, limit: AbortSignal): Run => {
    const party = partyOf(parts.settings, call);
    const heard = (error: string) => parts.note?.({ word: 'troubled', peer: party.peer, error });
    return { call, limit, party, heard };
  };
  return {
    call: (call) => {
      const { signal: limit, lift } = timeLimit(parts.settings.http_timeout_s);
      const run = begin(call, limit);
      return retrying(run, async (signal) => {
        const opened = await open(send, call, signal);
        if (!isAccepted(run, opened)) return troubleOf(run, opened);
        return { ...opened, json: await jsonOf(call, opened, lift) };
      });
    },
    stream: (call, limit) => {
      const run = begin(call, limit);
      return retrying(run, async (signal) => {
        const client = await import('./gotClient.ts');
        const opened = await open(client.send, call, signal);
        if (!isAccepted(run, opened)) return troubleOf(run, opened);
        return {
          ...opened,
          place: placeOf(run.party),
          body: sorted(run, opened.body),
          discard: () => void opened.body.destroy(),
        };
      });
    },
  };
}

/** A limit that is lifted once all is read leaves nothing behind that waits for its end; until then it holds for every try. */
function timeLimit(seconds: number): { signal: AbortSignal; lift: () => void } {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), seconds * 1000).unref();
  return { signal: limit.signal, lift: () => clearTimeout(timer) };
}

/** One call under way, all its tries together. */
interface Run {
  call: Call;
  limit: AbortSignal;
  party: { peer: Party; origin: string };
  heard: (error: string) => void;
}

async function retrying<T extends object>(
  run: Run,
  attempt: (signal: AbortSignal) => Promise<T | Trouble>,
): Promise<T> {
  const signal = AbortSignal.any([run.call.signal, run.limit]);
  for (let tries = 1; ; tries++) {
    const result = await attempt(signal).catch((error: unknown) => mishap(run, error));
    if (!('peer' in result)) return result;
    const pause = tries === run.call.tries ? null : retryPauseMs(result, tries, Math.random());
    if (pause === null || signal.aborted) throw sortTrouble(result);
    await sleep(pause, undefined, { signal }).catch((error: unknown) => {
      throw sortTrouble(run.call.signal.aborted ? mishap(run, error) : result);
    });
  }
}

/** An ignored body drains in the background, no longer than the call's own limit, so that the connection stays usable. */
async function jsonOf({ ignoresBody, maxBytes }: Call, { body }: Opened, lift: () => void): Promise<unknown> {
  if (ignoresBody) return void body.once('close', lift).resume();
  const json = await readJson(body, maxBytes ?? mebibyte);
  lift();
  return json;
}

/** The bytes of a body, its errors sorted like all others. */
async function* sorted(run: Run, body: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body) yield chunk as Buffer;
  } catch (error) {
    throw sortTrouble(mishap(run, error));
  }
}

function mishap(run: Run, error: unknown): Trouble {
  if (error instanceof Fault) throw error;
  const code = errorCode(run, error);
  if (code === 'TOO_LARGE' && run.call.tooLarge) throw run.call.tooLarge;
  if (code !== 'STOPPED') run.heard(code);
  return { ...run.party, what: run.call.what, error: code };
}

function errorCode({ call, limit }: Run, error: unknown): string {
  if (call.signal.aborted) return 'STOPPED';
  if (limit.aborted) return limit.reason === 'STALLED' ? 'STALLED' : 'TIMEOUT';
  return codeOf(error) ?? 'UNKNOWN';
}

async function troubleOf(run: Run, { status, headers, body }: Opened): Promise<Trouble> {
  const { what } = run.call;
  const json = await readJson(body, errorBodyBytes).catch(() => undefined);
  if (run.call.signal.aborted) return { ...run.party, what, error: 'STOPPED' };
  run.heard(`HTTP_${status}`);
  const retryAfterS = retryAfterOf(headers, Date.now());
  return { ...run.party, what, status, ...serverWords(json), retryAfterS };
}

/** An answer counts as the service's own only where its own origin gave it. */
function partyOf(settings: Settings, { peer, path }: Call): Run['party'] {
  const home = new URL(peer === 'tenancy' ? settings.tenancy_url : settings.secretstore_url).origin;
  const origin = path instanceof URL ? path.origin : home;
  return { peer: origin === home ? peer : 'storage', origin };
}

function isAccepted({ call }: Run, { status }: Opened): boolean {
  return (status >= 200 && status < 300) || (call.accepts?.includes(status) ?? false);
}

const mebibyte = 1_048_576;
/** Bytes of an error body that are worth reading. */
const errorBodyBytes = 65_536;
