import { once } from 'node:events';
import { type Agent, request, type IncomingMessage } from 'node:http';
import { ignoreOnceRead } from './opener.ts';
import { readJson } from './json.ts';

/** How an engine is reached. */
export interface Engine {
  socketPath: string;
  agent: Agent;
  /** Milliseconds of silence after which it does not answer. */
  timeout: number;
}

/** What is asked of the engine: a path, and its parameters. */
export interface Question {
  path: string;
  query?: Record<string, string>;
}

const MAX_BYTES = 16 * 1024 * 1024;

/**
 * What the engine answers, and whether it is Podman. An inspection has the container's environment in it, and so its secrets:
 * dockerode would leave a copy of the answer in freed memory. Nor has a tick to load dockerode that finds all well.
 */
export async function answerOf(
  engine: Engine,
  { path, query = {} }: Question,
  signal: AbortSignal,
): Promise<{ json: unknown; isPodman: boolean }> {
  const asked = request({ ...engine, signal, path: `${path}?${new URLSearchParams(query).toString()}` });
  asked.on('timeout', () => asked.destroy()).on('error', ignoreOnceRead);
  const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage];
  const json = await readJson(answer, MAX_BYTES);
  const { statusCode, statusMessage: reason, headers } = answer;
  if (statusCode !== 200) throw Object.assign(new Error('refused'), { statusCode, reason });
  if (json === undefined) throw Object.assign(new Error('not JSON'), { code: 'NOT_JSON' });
  return { json, isPodman: 'libpod-api-version' in headers };
}
