import { once } from 'node:events';
import { type Agent, request, type IncomingMessage } from 'node:http';
import { ignoreOnceRead } from '../http/opener.ts';
import { readJson } from '../http/json.ts';

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
  question: Question,
  signal: AbortSignal,
): Promise<{ json: unknown; isPodman: boolean }> {
  const answer = await ask(engine, question, signal);
  const json = await readJson(answer, MAX_BYTES);
  const { statusCode, statusMessage: reason, headers } = answer;
  if (statusCode !== 200) throw Object.assign(new Error('refused'), { statusCode, reason });
  if (json === undefined) throw Object.assign(new Error('not JSON'), { code: 'NOT_JSON' });
  return { json, isPodman: 'libpod-api-version' in headers };
}

/** What the engine goes on telling, as silent as it may be; null where it does not do that. */
export async function streamOf(
  engine: Engine,
  question: Question,
  signal: AbortSignal,
): Promise<IncomingMessage | null> {
  const answer = await ask(engine, question, signal);
  if (answer.statusCode === 200) return answer.setTimeout(0);
  answer.destroy();
  return null;
}

async function ask(engine: Engine, { path, query = {} }: Question, signal: AbortSignal): Promise<IncomingMessage> {
  const asked = request({ ...engine, signal, path: `${path}?${new URLSearchParams(query).toString()}` });
  asked.on('timeout', () => asked.destroy()).on('error', ignoreOnceRead);
  const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage];
  return answer;
}
