import { execFile } from 'node:child_process';
import { createPublicKey, generateKeyPairSync, type KeyObject, sign, X509Certificate } from 'node:crypto';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { readRegularFile } from '../core/files.ts';
import { asList, asRecord, asText } from '../core/json.rules.ts';
import { type ControllerClient, createControllerClient } from './controllerClient.ts';
import { type ApiSession, logInByCertificate, requestData, urlOf } from './controllerSession.ts';
import { type Identity, readIdentity } from './identity.ts';
import { MeshError } from './meshError.ts';

/** An identity whose certificate may be extended. */
export interface ExtensionOptions {
  identityFile: string;
  /** Timeout of each request to a controller. */
  timeoutMs: number;
  /** Extends the certificate whatever its end is. */
  isForced: boolean;
  now: Date;
}

/** The result for the certificate; `until` is its end. */
export interface ExtensionResult {
  result: 'notDue' | 'extended' | 'completed';
  until: Date;
}

const dayMs = 86_400_000;
const EXTEND_BEFORE_MS = 60 * dayMs;

/**
 * Extends the client certificate of an identity at its controller: 60 days before its end, in the last third of a
 * shorter life, or if the controller requests it. The key stays the same, unless the controller requests a new one.
 * Runs as the owner of the file. Throws a MeshError.
 *
 * The new certificate is complete on the disk, in a file beside, before the controller is asked to accept only it. So a
 * run that is killed at any point leaves a certificate that the controller accepts, and the next run finds it.
 */
export async function extendCertificate(options: ExtensionOptions): Promise<ExtensionResult> {
  const { identityFile, isForced, now } = options;
  const completed = await completeExtension(options);
  if (completed !== null) return { result: 'completed', until: completed };
  const identity = await readIdentity(identityFile);
  const { certificate } = identity;
  const notDue = { result: 'notDue', until: certificate.validToDate } as const;
  let isWanted = isForced || isDue(certificate, now);
  return withLogin(identity, options, async (login) => {
    const own = await findAuthenticator(login, certificate);
    isWanted ||= own.isExtensionRequested;
    if (!isWanted) return notDue;
    const key = own.isKeyRollRequested ? newKeyLike(identity.privateKey) : identity.privateKey;
    const extended = await requestExtension(login, { own, certificate, key });
    const pem = key.export({ type: 'pkcs8', format: 'pem' });
    await writeBeside(identityFile, { cert: `pem:${extended}`, ...(own.isKeyRollRequested && { key: `pem:${pem}` }) });
    const { certificate: renewed } = await readIdentity(besideOf(identityFile));
    await post(login, `${own.path}/extend-verify`, { clientCert: extended });
    await replaceIdentity(identityFile);
    return { result: 'extended' as const, until: renewed.validToDate };
  }).catch((error: unknown) => {
    if (isWanted || !(error instanceof MeshError)) throw error;
    return notDue;
  });
}

function isDue({ validFromDate, validToDate }: X509Certificate, now: Date): boolean {
  const lifeMs = validToDate.getTime() - validFromDate.getTime();
  return validToDate.getTime() - now.getTime() < Math.min(EXTEND_BEFORE_MS, lifeMs / 3);
}

/** Where a new certificate waits until the controller has accepted it. */
function besideOf(identityFile: string): string {
  return `${identityFile}.extended`;
}

/**
 * Ends an extension that was killed: its certificate replaces the old one if a controller accepts it, and is removed if
 * controllers accept only the old one. Returns the end of the accepted certificate; null if there is nothing to complete.
 */
async function completeExtension(options: ExtensionOptions): Promise<Date | null> {
  const { identityFile } = options;
  const beside = besideOf(identityFile);
  const identity = await readIdentity(beside).catch(() => null);
  if (identity === null) {
    await rm(beside, { force: true });
    return null;
  }
  try {
    await withLogin(identity, options, () => Promise.resolve());
  } catch (error) {
    if (!(error instanceof MeshError && error.kind === 'refused')) throw error;
    await withLogin(await readIdentity(identityFile), options, () => Promise.resolve());
    await rm(beside);
    return null;
  }
  await replaceIdentity(identityFile);
  return identity.certificate.validToDate;
}

/** A login at one controller. */
interface ControllerLogin {
  client: ControllerClient;
  base: URL;
  apiSession: ApiSession;
}

/** Logs in at the first controller that answers, always by certificate: controllers before 1.6 confirm no others. */
async function withLogin<T>(
  identity: Identity,
  { timeoutMs }: ExtensionOptions,
  work: (login: ControllerLogin) => Promise<T>,
): Promise<T> {
  const client = createControllerClient(identity, timeoutMs);
  try {
    const login = await logInAtAny(client, identity.controllers);
    try {
      return await work(login);
    } finally {
      await login.apiSession.logout().catch(() => undefined);
    }
  } finally {
    client.close();
  }
}

async function logInAtAny(client: ControllerClient, bases: readonly URL[]): Promise<ControllerLogin> {
  let last: unknown = new MeshError('unreachable', 'the identity names no controller');
  for (const base of bases) {
    try {
      return { client, base, apiSession: await logInByCertificate(client, base) };
    } catch (error) {
      last = error;
    }
  }
  throw last;
}

/** The controller's entry for a certificate. */
interface Authenticator {
  /** Null if the network did not issue the certificate. */
  path: string | null;
  isExtensionRequested: boolean;
  isKeyRollRequested: boolean;
}

async function findAuthenticator(login: ControllerLogin, { fingerprint }: X509Certificate): Promise<Authenticator> {
  const { client, base, apiSession } = login;
  const url = urlOf(base, 'current-identity/authenticators?limit=100');
  const found = asList(await requestData(client, url, { method: 'GET', headers: apiSession.headers })).map(asRecord);
  const wanted = fingerprint.replaceAll(':', '').toLowerCase();
  const own = asRecord(
    found.find(({ fingerprint: theirs }) => asText(theirs).replaceAll(':', '').toLowerCase() === wanted),
  );
  const id = own['isIssuedByNetwork'] === false ? '' : asText(own['id']);
  return {
    path: id === '' ? null : `current-identity/authenticators/${encodeURIComponent(id)}`,
    isExtensionRequested: own['isExtendRequested'] === true,
    isKeyRollRequested: own['isKeyRollRequested'] === true,
  };
}

/** Requests a new certificate for a key; returns it with its chain, PEM. */
async function requestExtension(
  login: ControllerLogin,
  { own, certificate, key }: { own: Authenticator; certificate: X509Certificate; key: KeyObject },
): Promise<string> {
  if (own.path === null)
    throw new MeshError('unsupported', 'the certificate was not issued by the network, which cannot extend it');
  const clientCertCsr = certificateRequest(certificate, key);
  const { clientCert } = asRecord(await post(login, `${own.path}/extend`, { clientCertCsr }));
  const extended = asText(clientCert);
  const leaf = parseOrNull(extended);
  if (leaf === null || !leaf.checkPrivateKey(key) || leaf.validToDate <= certificate.validToDate)
    throw new MeshError('protocol', 'the controller sent no later certificate of this key');
  return extended;
}

function post({ client, base, apiSession }: ControllerLogin, path: string, body: object): Promise<unknown> {
  return requestData(client, urlOf(base, path), { method: 'POST', headers: apiSession.headers, body });
}

function parseOrNull(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

/** Writes a changed copy of an identity beside it, with the same owner, mode and ACL, and syncs it. */
async function writeBeside(path: string, parts: { cert: string; key?: string }): Promise<void> {
  const json = asRecord(JSON.parse(readRegularFile(path).toString('utf8')));
  const id = asRecord(json['id']);
  for (const field of Object.keys(parts))
    if (!/^(pem:|-----BEGIN )/.test(asText(id[field])))
      throw new MeshError('unsupported', `identity ${path} keeps id.${field} in another file, which is not replaced`);
  const beside = besideOf(path);
  await promisify(execFile)('cp', ['--preserve=mode,ownership,xattr', '--', path, beside]).catch(() => {
    throw new MeshError('identity', `identity ${path} cannot be copied to ${beside}`);
  });
  await using file = await open(beside, 'r+');
  await file.truncate();
  await file.writeFile(`${JSON.stringify({ ...json, id: { ...id, ...parts } }, null, 2)}\n`);
  await file.sync();
}

async function replaceIdentity(path: string): Promise<void> {
  await rename(besideOf(path), path);
  await using directory = await open(dirname(path));
  await directory.sync();
}

/** A new key of the same type and size. Throws a TypeError for a key that is neither EC nor RSA nor Ed25519. */
function newKeyLike({ asymmetricKeyType, asymmetricKeyDetails = {} }: KeyObject): KeyObject {
  const { namedCurve = 'P-256', modulusLength = 4096 } = asymmetricKeyDetails;
  switch (asymmetricKeyType) {
    case 'ec':
      return generateKeyPairSync('ec', { namedCurve }).privateKey;
    case 'rsa':
      return generateKeyPairSync('rsa', { modulusLength }).privateKey;
    case 'ed25519':
      return generateKeyPairSync('ed25519').privateKey;
    default:
      throw new TypeError(`a key of type ${asymmetricKeyType ?? 'unknown'}`);
  }
}

/**
 * A request for a new certificate (PKCS #10) with the subject of an old one, for this key, PEM. Throws a TypeError for
 * a key that is neither EC nor RSA nor Ed25519.
 */
function certificateRequest(certificate: X509Certificate, privateKey: KeyObject): string {
  const { algorithm, hash } = signatureOf(privateKey);
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const body = sequence(integer(Buffer.from([0])), subjectOf(certificate), publicKey, tagged(0, true));
  const request = sequence(body, algorithm, bitString(sign(hash, body, privateKey)));
  return pemOf('CERTIFICATE REQUEST', request);
}

function signatureOf({ asymmetricKeyType }: KeyObject): { algorithm: Buffer; hash: string | null } {
  switch (asymmetricKeyType) {
    case 'ec':
      return { algorithm: ecdsaWithSha256, hash: 'sha256' };
    case 'rsa':
      return { algorithm: sequence(oid('1.2.840.113549.1.1.11'), element(0x05)), hash: 'sha256' };
    case 'ed25519':
      return { algorithm: sequence(oid('1.3.101.112')), hash: null };
    default:
      throw new TypeError(`a key of type ${asymmetricKeyType ?? 'unknown'}`);
  }
}

/** Identifier of the usual signature of EC keys. */
export const ecdsaWithSha256 = sequence(oid('1.2.840.10045.4.3.2'));

/** The encoded subject of a certificate: it follows version, serial number, algorithm, issuer and validity. */
function subjectOf({ raw }: X509Certificate): Buffer {
  const [body = Buffer.alloc(0)] = elementsIn(raw);
  return elementsIn(body)[5] ?? sequence();
}

/** The complete elements inside a constructed one. */
export function elementsIn(outer: Buffer): Buffer[] {
  const elements: Buffer[] = [];
  for (let at = contentAt(outer, 0).from; at < outer.length; at = contentAt(outer, at).to)
    elements.push(outer.subarray(at, contentAt(outer, at).to));
  return elements;
}

function contentAt(bytes: Buffer, at: number): { from: number; to: number } {
  const short = bytes.readUInt8(at + 1);
  const size = short < 0x80 ? 0 : short - 0x80;
  const length = size === 0 ? short : bytes.readUIntBE(at + 2, size);
  return { from: at + 2 + size, to: at + 2 + size + length };
}

/** PEM text of an encoded element. */
export function pemOf(label: string, der: Buffer): string {
  const lines = der.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
}

/** The part of DER that certificates and requests for them need. Every function returns one complete element. */

export function sequence(...items: Buffer[]): Buffer {
  return element(0x30, ...items);
}

export const set = (...items: Buffer[]) => element(0x31, ...items);
export const octetString = (...items: Buffer[]) => element(0x04, ...items);
export const utf8String = (value: string) => element(0x0c, Buffer.from(value));
export const booleanTrue = () => element(0x01, Buffer.from([0xff]));
export const bitString = (value: Buffer, unused = 0) => element(0x03, Buffer.from([unused]), value);

/** A context-specific element; `constructed` when it wraps other elements. */
export const tagged = (tag: number, constructed: boolean, ...items: Buffer[]) =>
  element(0x80 | (constructed ? 0x20 : 0) | tag, ...items);

/** A non-negative integer, big-endian; minimal length with a sign bit of 0. */
export const integer = (value: Buffer) => {
  const start = value.findIndex((byte) => byte !== 0);
  const bare = start < 0 ? Buffer.alloc(0) : value.subarray(start);
  return element(0x02, bare[0] !== undefined && bare[0] < 0x80 ? bare : Buffer.concat([Buffer.from([0]), bare]));
};

/** UTCTime, valid until 2049. */
export const utcTime = (ms: number) =>
  element(0x17, Buffer.from(`${new Date(ms).toISOString().replace(/[-:T]/g, '').slice(2, 14)}Z`));

/** An object identifier in dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let rest = value >>> 7; rest > 0; rest >>>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}

function element(tag: number, ...items: Buffer[]): Buffer {
  const content = Buffer.concat(items);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

/** Minimal length, as DER requires: some parsers refuse anything longer. */
function lengthOf(length: number): number[] {
  if (length < 0x80) return [length];
  return length < 0x100 ? [0x81, length] : [0x82, length >>> 8, length & 0xff];
}
