import { createHash, createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import type { SecureContext } from 'node:tls';
import { setTimeout as sleep } from 'node:timers/promises';
import { readRegularFile } from '../core/files.ts';
import {
  type Authorities,
  createTlsContext,
  parseAuthorities,
  readAuthorities,
} from '../core/certificateAuthorities.ts';
import { asList, asRecord } from '../core/json.rules.ts';
import { memoryOf, type NetworkMemory, orderControllers } from './choice.rules.ts';
import { MeshError } from './meshError.ts';

/** An enrolled identity. */
export interface Identity {
  /** URLs of the controllers' client API, the preferred one first. */
  controllers: URL[];
  /**
   * The client certificate for controllers and routers; trusts only the identity's own authorities, or the system's authorities if it has none.
   */
  secureContext: SecureContext;
  /** The client certificate. The controller decides whether an expired one is accepted; by default OpenZiti does. */
  certificate: X509Certificate;
  privateKey: KeyObject;
  /** The memory of its network. */
  memory: NetworkMemory;
}

const MAX_TRIES = 4;
const RETRY_DELAY_MS = 200;

/**
 * Reads an identity file. A tunneller may be rewriting it: a missing or incomplete file is read again, for 600 ms in
 * total. Throws a MeshError of kind `identity` that says what is wrong.
 */
export async function readIdentity(path: string, remembered: string | null = null): Promise<Identity> {
  for (let tries = 1; ; tries++) {
    const result = readOnce(path);
    if ('json' in result) return identityOf(result.json, path, remembered);
    if (tries === MAX_TRIES || !result.isTransient) throw identityError(path, result.problem);
    await sleep(RETRY_DELAY_MS);
  }
}

type ReadResult = { json: unknown } | { problem: string; isTransient: boolean };

function readOnce(path: string): ReadResult {
  const text = readText(path);
  if (typeof text !== 'string') return { problem: describeReadError(text.code), isTransient: text.code === 'ENOENT' };
  if (text.trim() === '') return { problem: 'is empty: its enrolment is not done, or it failed', isTransient: true };
  if (/^[\w-]+\.[\w-]+\.[\w-]+\s*$/.test(text)) {
    return { problem: 'is an enrolment token, not an identity: enrol it first', isTransient: false };
  }
  try {
    return { json: JSON.parse(text) };
  } catch {
    return { problem: 'is malformed: it is not JSON', isTransient: true };
  }
}

function readText(path: string): string | NodeJS.ErrnoException {
  try {
    return readRegularFile(path).toString('utf8');
  } catch (error) {
    return error as NodeJS.ErrnoException;
  }
}

function describeReadError(code: string | undefined): string {
  switch (code) {
    case 'EACCES':
    case 'EPERM':
      return 'is not readable by this user';
    case 'ENOENT':
      return 'is not there';
    case 'EISDIR':
    case 'ENOTREG':
      return 'is not a regular file';
    default:
      return `cannot be read (${code ?? 'unknown'})`;
  }
}

function identityOf(json: unknown, path: string, remembered: string | null): Identity {
  const { ztAPI, ztAPIs, id } = asRecord(json);
  const { key, cert, ca } = asRecord(id);
  const controllers = controllersOf([...asList(ztAPIs), ztAPI]);
  if (controllers.length === 0) {
    throw identityError(path, 'is malformed: neither ztAPI nor ztAPIs is the https address of a controller');
  }
  if (!isText(key) || !isText(cert)) {
    throw identityError(path, 'contains no key and certificate (id.key, id.cert): it cannot log in unattended');
  }
  const keyPair = { key: resolvePem(key, 'id.key', path), cert: resolvePem(cert, 'id.cert', path) };
  const parsed = parseKeyPair(keyPair, path);
  const authorities = authoritiesOf(ca, path);
  const own = controllers.map(({ href }) => href);
  const memory = memoryOf(remembered, digestOf([...own, ...(isText(ca) ? authorities : [])]));
  const trusted = parseAuthorities([...authorities, ...memory.ca].join('\n')) ?? authorities;
  const secureContext = tryOrNull(() => createTlsContext(trusted, { ...keyPair, allowPartialTrustChain: true }));
  if (secureContext === null) throw identityError(path, 'is malformed: TLS does not take id.cert and its chain');
  return { controllers: controllersOf(orderControllers(own, memory)), secureContext, memory, ...parsed };
}

/** The same for texts in any order and with any white space. */
function digestOf(texts: string[]): string {
  const plain = texts.map((text) => text.replace(/\s/g, '')).toSorted();
  return createHash('sha256').update(plain.join('\n')).digest('hex');
}

/** Without `id.ca` the system's authorities: the certificate of the controller is of a public one then. */
function authoritiesOf(ca: unknown, path: string): Authorities {
  if (!isText(ca)) {
    const ofSystem = tryOrNull(() => readAuthorities(null));
    if (ofSystem === null) throw identityError(path, 'has no id.ca, and the authorities of the system cannot be read');
    return ofSystem;
  }
  const authorities = parseAuthorities(resolvePem(ca, 'id.ca', path));
  if (authorities === null) throw identityError(path, 'is malformed: id.ca is not a certificate');
  return authorities;
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

/** Resolves a PEM reference: PEM text, `pem:` with PEM text, or a file. */
function resolvePem(reference: string, field: string, path: string): string {
  if (reference.startsWith('-----BEGIN ')) return reference;
  if (reference.startsWith('pem:')) return reference.slice('pem:'.length);
  const [, scheme] = /^([a-z][a-z0-9+]*):/i.exec(reference) ?? [];
  if (scheme !== undefined && scheme !== 'file') {
    throw identityError(path, `keeps ${field} in a ${scheme} store, which is not supported: it must be PEM or a file`);
  }
  const file = resolve(dirname(path), reference.replace(/^file:(\/\/)?/, ''));
  const text = readText(file);
  if (typeof text !== 'string')
    throw identityError(path, `names ${file} for ${field}, which ${describeReadError(text.code)}`);
  return text;
}

/** A private key and its certificate chain, leaf first. This PEM text never leaves this module. */
interface KeyPair {
  key: string;
  cert: string;
}

function parseKeyPair({ key, cert }: KeyPair, path: string): Pick<Identity, 'certificate' | 'privateKey'> {
  const certificate = tryOrNull(() => new X509Certificate(cert));
  if (certificate === null) throw identityError(path, 'is malformed: id.cert is not a certificate');
  const privateKey = tryOrNull(() => createPrivateKey(key));
  if (privateKey === null) throw identityError(path, 'is malformed: id.key is not a private key');
  if (!certificate.checkPrivateKey(privateKey))
    throw identityError(path, 'is malformed: id.key and id.cert do not belong together');
  return { certificate, privateKey };
}

function tryOrNull<T>(make: () => T): T | null {
  try {
    return make();
  } catch {
    return null;
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function identityError(path: string, problem: string): MeshError {
  return new MeshError('identity', `identity ${path} ${problem}`);
}
