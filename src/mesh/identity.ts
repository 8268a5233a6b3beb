import { createPrivateKey, X509Certificate } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import type { SecureContext } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { readRegular } from '../platform/regularFile.ts';
import { authoritiesIn, contextOf } from '../platform/authorities.ts';
import { listed, record } from './json.ts';
import { MeshTrouble } from './trouble.ts';

/** An enrolled identity, ready to be used. */
export interface Identity {
  /** Where the controllers' client API is, the one to try first at the front. */
  controllers: URL[];
  /** With what TLS shows it to controllers and routers, and trusts them: by nothing but its own authorities. */
  secureContext: SecureContext;
}

const TRIES = 4;
const PAUSE_MS = 200;

/**
 * Reads an identity file, also while a tunneller is rewriting it: a gap or half a file is looked at again, for 600 ms in
 * all. Throws a MeshTrouble of kind `identity` that says what is wrong with it.
 */
export async function readIdentity(path: string, now = Date.now()): Promise<Identity> {
  for (let tries = 1; ; tries++) {
    const found = readOnce(path);
    if ('json' in found) return identityOf(found.json, { path, now });
    if (tries === TRIES || !found.isPassing) throw unusable(path, found.why);
    await sleep(PAUSE_MS);
  }
}

type Found = { json: unknown } | { why: string; isPassing: boolean };

function readOnce(path: string): Found {
  const text = textOf(path);
  if (typeof text !== 'string') return { why: unreadable(text.code), isPassing: text.code === 'ENOENT' };
  if (text.trim() === '') return { why: 'is empty: its enrolment is not done, or it failed', isPassing: true };
  if (/^[\w-]+\.[\w-]+\.[\w-]+\s*$/.test(text)) {
    return { why: 'is an enrolment token, not an identity: enrol it first', isPassing: false };
  }
  try {
    return { json: JSON.parse(text) };
  } catch {
    return { why: 'is malformed: it is not JSON', isPassing: true };
  }
}

function textOf(path: string): string | NodeJS.ErrnoException {
  try {
    return readRegular(path).toString('utf8');
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

function unreadable(code: string | undefined): string {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return 'is not readable by this user';
    case 'ENOENT':
      return 'is not there';
    case 'EISDIR':
    case 'ENOTREG':
      return 'is no regular file';
    default:
      return `cannot be read (${code ?? 'unknown'})`;
  }
}

/** Where an identity lies and when it is looked at, in milliseconds since 1970. */
interface Place {
  path: string;
  now: number;
}

function identityOf(json: unknown, place: Place): Identity {
  const { ztAPI, ztAPIs, id } = record(json);
  const { key, cert, ca } = record(id);
  const controllers = controllersOf([...listed(ztAPIs), ztAPI]);
  if (controllers.length === 0) {
    throw unusable(place.path, 'is malformed: neither ztAPI nor ztAPIs is the https address of a controller');
  }
  if (!isText(key) || !isText(cert)) {
    throw unusable(place.path, 'has no key and certificate of its own (id.key, id.cert): it cannot log in unattended');
  }
  if (!isText(ca)) throw unusable(place.path, 'is malformed: it has no id.ca, so no controller can be trusted');
  const pair = { key: pemOf(key, 'id.key', place), cert: pemOf(cert, 'id.cert', place) };
  const authorities = authoritiesIn(pemOf(ca, 'id.ca', place));
  judgePair(pair, place);
  if (authorities === null) throw unusable(place.path, 'is malformed: id.ca is no certificate');
  const secureContext = attempt(() => contextOf(authorities, { ...pair, allowPartialTrustChain: true }));
  if (secureContext === null) throw unusable(place.path, 'is malformed: TLS does not take id.cert and its chain');
  return { controllers, secureContext };
}

function controllersOf(addresses: unknown[]): URL[] {
  const urls = addresses.filter(isText).filter((address) => URL.canParse(address));
  const bases = urls.map((address) => {
    const url = new URL(address);
    if (url.pathname === '/') url.pathname = '/edge/client/v1';
    return url;
  });
  const byHref = new Map(bases.filter(({ protocol }) => protocol === 'https:').map((url) => [url.href, url]));
  return [...byHref.values()];
}

/** The text that a reference means: PEM as it stands, after `pem:`, or in a file. */
function pemOf(reference: string, field: string, { path }: Place): string {
  if (reference.startsWith('-----BEGIN ')) return reference;
  if (reference.startsWith('pem:')) return reference.slice('pem:'.length);
  const [, scheme] = /^([a-z][a-z0-9+]*):/i.exec(reference) ?? [];
  if (scheme !== undefined && scheme !== 'file') {
    throw unusable(path, `keeps ${field} in a ${scheme} store, which is not supported: it must be PEM or a file`);
  }
  const file = resolve(dirname(path), reference.replace(/^file:(\/\/)?/, ''));
  const text = textOf(file);
  if (typeof text !== 'string') throw unusable(path, `names ${file} for ${field}, which ${unreadable(text.code)}`);
  return text;
}

/** A private key and its certificate with its chain, leaf first; PEM text that never leaves this module. */
interface Pair {
  key: string;
  cert: string;
}

function judgePair({ key, cert }: Pair, { path, now }: Place): void {
  const leaf = attempt(() => new X509Certificate(cert));
  if (leaf === null) throw unusable(path, 'is malformed: id.cert is no certificate');
  const secret = attempt(() => createPrivateKey(key));
  if (secret === null) throw unusable(path, 'is malformed: id.key is no private key');
  if (!leaf.checkPrivateKey(secret)) throw unusable(path, 'is malformed: id.key and id.cert do not belong together');
  if (leaf.validToDate.getTime() < now) {
    throw unusable(path, `expired on ${leaf.validToDate.toISOString()}: enrol it anew`);
  }
}

function attempt<T>(make: () => T): T | null {
  try {
    return make();
  } catch {
    return null;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function unusable(path: string, why: string): MeshTrouble {
  return new MeshTrouble('identity', `identity ${path} ${why}`);
}
