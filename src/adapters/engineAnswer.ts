import type { IncomingMessage } from 'node:http';
import { addAbortSignal } from 'node:stream';
import { promisify } from 'node:util';
import { readJson } from './json.ts';

/** The part of dockerode that its types leave out. */
export interface Modem {
  dial: (call: object, done: (error: Error | null, body: IncomingMessage) => void) => void;
}

/** What is asked of the engine: a path, and its parameters. */
export interface Question {
  path: string;
  options?: object;
}

const MAX_BYTES = 16 * 1024 * 1024;

/**
 * What the engine answers, and whether it is Podman. An inspection has the container's environment in it, and so its secrets:
 * dockerode's own call would leave a copy of the answer in freed memory.
 */
export async function answerOf(
  modem: Modem,
  { path, options }: Question,
  signal: AbortSignal,
): Promise<{ json: unknown; isPodman: boolean }> {
  const statusCodes = { 200: true, 404: 'no such container', 500: 'server error' };
  const call = { path: `${path}?`, options, method: 'GET', abortSignal: signal, isStream: true, statusCodes };
  const body = await promisify(modem.dial).call(modem, call);
  const json = await readJson(addAbortSignal(signal, body), MAX_BYTES);
  if (json === undefined) throw Object.assign(new Error('not JSON'), { code: 'NOT_JSON' });
  return { json, isPodman: 'libpod-api-version' in body.headers };
}
