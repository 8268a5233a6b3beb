import { parseErrorBody } from '../../../protocol/errorBody.ts';
import { secretsMount } from '../../credentials/secretstoreRoles.ts';
import { PeerError } from '../peerError.ts';
import { dataOf } from './answerFields.ts';
import type { Secretstore } from './secretstore.ts';
import { unusableAnswer, type SecretstoreCall, type SecretstoreClient } from './secretstoreClient.ts';

/** A call with the service's own token. */
export type CallAsService = (call: Omit<SecretstoreCall, 'token'>) => ReturnType<SecretstoreClient['call']>;

type SecretVersion = Awaited<ReturnType<Secretstore['listSecrets']>>[number];

/** Calls at a time for one list. */
const AT_ONCE = 8;

/** Writes a new version; returns its number. */
export async function writeSecret(
  call: CallAsService,
  { env, key, data }: Parameters<Secretstore['writeSecret']>[0],
): Promise<number> {
  const what = 'write of a secret';
  const { json } = await call({ what, method: 'POST', path: pathOf('data', env, key), body: { data }, isSecret: true });
  return versionIn(dataOf(json, what)['version'], what);
}

/** Names of all secrets of an env, those in folders with `/`, with their newest versions; sorted. */
export async function listSecrets(call: CallAsService, env: string): Promise<SecretVersion[]> {
  const keys = (await keysBelow(call, env)).sort();
  const found: SecretVersion[] = [];
  while (keys.length > 0) {
    const versions = await Promise.all(keys.splice(0, AT_ONCE).map((key) => newestVersion(call, env, key)));
    found.push(...versions.filter((version) => version !== null));
  }
  return found;
}

/** Destroys all versions of a secret; false if there is none. */
export async function destroySecret(call: CallAsService, env: string, key: string): Promise<boolean> {
  if ((await newestVersion(call, env, key)) === null) return false;
  await removeSecret(call, env, key);
  return true;
}

/** Destroys all secrets of an env; rejects between two of them when the signal is aborted. */
export async function destroySecrets(call: CallAsService, env: string, signal: AbortSignal): Promise<void> {
  for (const key of await keysBelow(call, env)) {
    signal.throwIfAborted();
    await removeSecret(call, env, key);
  }
}

async function removeSecret(call: CallAsService, env: string, key: string): Promise<void> {
  await call({ what: 'removal of a secret', method: 'DELETE', path: pathOf('metadata', env, key) });
}

/** Names of secrets below a folder, which ends with `/`. */
async function keysBelow(call: CallAsService, env: string, folder = ''): Promise<string[]> {
  const what = 'list of secrets';
  const path = `${pathOf('metadata', env, folder).replace(/\/$/, '')}?list=true`;
  const found = await read(call, { what, path });
  if (found === null) return [];
  const { keys } = found;
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'string')) throw unusableAnswer(what);
  const all: string[] = [];
  for (const key of keys.map((name) => folder + name)) {
    all.push(...(key.endsWith('/') ? await keysBelow(call, env, key) : [key]));
  }
  return all;
}

/** Null if there is no such secret. */
async function newestVersion(call: CallAsService, env: string, key: string): Promise<SecretVersion | null> {
  const what = 'versions of a secret';
  const found = await read(call, { what, path: pathOf('metadata', env, key) });
  return found && { key, version: versionIn(found['current_version'], what) };
}

/** The data at a path; null if there is none. A 404 that gives a reason is of a mount or namespace that is missing. */
async function read(call: CallAsService, request: Pick<SecretstoreCall, 'what' | 'path'>) {
  const { status, json } = await call({ ...request, method: 'GET', accepts: [404] });
  const reason = parseErrorBody(json).text;
  if (status === 404 && reason !== null) throw new PeerError('secretstore', `${request.what} answered 404 (${reason})`);
  return status === 404 ? null : dataOf(json, request.what);
}

function versionIn(value: unknown, what: string): number {
  if (typeof value !== 'number') throw unusableAnswer(what);
  return value;
}

function pathOf(part: 'data' | 'metadata', env: string, key: string): string {
  return [secretsMount, part, env, 'see', ...key.split('/')].map(encodeURIComponent).join('/');
}
