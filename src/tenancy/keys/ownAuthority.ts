import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIP } from 'node:net';
import { AsnConvert, AsnSerializer, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_kp_serverAuth,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';
import type { TlsCertificateRow } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import { KeyError, type Sealer } from './keyRing.ts';

const DAY_MS = 24 * 60 * 60_000;
/** Certificates are valid from this long before their issue, for hosts whose clocks are slow. */
const BEFORE_MS = DAY_MS;

/** For how long certificates are valid, and how long before their end they are replaced, in milliseconds. */
const terms = {
  authority: { validMs: 3650 * DAY_MS, renewedMs: 365 * DAY_MS },
  server: { validMs: 90 * DAY_MS, renewedMs: 30 * DAY_MS },
} as const;

/** Instances that start together may each be the slower one a few times. */
const MOST_TRIES = 5;

type Role = keyof typeof terms;

/** The certificate and key of the server, and the certificate of the authority that signed it; all in PEM. */
export interface OwnIdentity {
  cert: string;
  key: string;
  authority: string;
}

/** The store of the certificates, and the facts in the certificate of the server. */
export interface OwnAuthorityInput {
  store: Store;
  /** Encrypts the keys in the store. */
  sealer: Sealer;
  /** Host name or address of the service, by which hosts and operators call it. */
  host: string;
  /** Milliseconds since 1970. */
  now: number;
}

/**
 * Returns the certificate of the server, signed by an authority that only this service has. Creates and renews what is
 * missing, of another host name, or soon expired. All instances with one store get the same. Keys stay the same when
 * certificates are renewed, so that hosts which trust the authority or pin the key of the server need no change.
 * Throws KeyError if the key file does not match.
 */
export async function ownIdentity({ host, now, ...place }: OwnAuthorityInput): Promise<OwnIdentity> {
  const authority = await present({ ...place, role: 'authority' }, (key, current) => {
    if (current !== null && !isDue(current, 'authority', now)) return null;
    const name = current === null ? `deployd ${host} ${randomBytes(4).toString('hex')}` : commonNameOf(current);
    return certificateOf({ role: 'authority', name, key: createPublicKey(key), now }, { name, key });
  });
  const issuer = { name: commonNameOf(authority.certificate), key: authority.key };
  const server = await present({ ...place, role: 'server' }, (key, current) => {
    if (current !== null && !isDue(current, 'server', now) && names(current, host) && signed(current, authority.key))
      return null;
    return certificateOf({ role: 'server', name: host, key: createPublicKey(key), now }, issuer);
  });
  return {
    cert: server.certificate.toString(),
    key: pemOf(server.key),
    authority: authority.certificate.toString(),
  };
}

/** Returns the certificates that are stored, in PEM; null before `ownIdentity` has made them. */
export async function findOwnCertificates(store: Store): Promise<{ authority: string; server: string } | null> {
  const [authority, server] = [await find(store, 'authority'), await find(store, 'server')];
  return authority && server && { authority: authority.certificate, server: server.certificate };
}

/** Returns the pin of the key of a certificate, as `curl --pinnedpubkey` takes it. */
export function pinOf(certificate: string): string {
  const spki = new X509Certificate(certificate).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256//${createHash('sha256').update(spki).digest('base64')}`;
}

interface Opened {
  key: KeyObject;
  certificate: X509Certificate;
}

/** Reads a certificate and its key. Stores the certificate that `renewed` returns, unless another instance was faster. */
async function present(
  { store, sealer, role }: Pick<OwnAuthorityInput, 'store' | 'sealer'> & { role: Role },
  renewed: (key: KeyObject, current: X509Certificate | null) => string | null,
): Promise<Opened> {
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const row = await find(store, role);
    const key = row === null ? generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey : open(row, sealer);
    const current = row === null ? null : new X509Certificate(row.certificate);
    const certificate = renewed(key, current);
    if (certificate === null && current !== null) return { key, certificate: current };
    if (certificate === null) break;
    if (row === null) await add(store, { role, certificate, sealed_key: sealer.seal(purposeOf(role), pemOf(key)) });
    else await replace(store, row, certificate);
  }
  throw new Error(`the stored certificate stays unusable: ${role}`);
}

function purposeOf(role: Role): string {
  return `tls ${role}`;
}

function pemOf(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' });
}

function open({ role, sealed_key }: TlsCertificateRow, sealer: Sealer): KeyObject {
  const pem = sealer.unseal(purposeOf(role), sealed_key);
  if (pem === null) throw new KeyError('the key file is not the one that encrypted the certificate authority');
  return createPrivateKey(pem);
}

/** Encrypts the keys of all certificates with another key file. Throws KeyError unless the first one decrypts them. */
export async function resealCertificates(work: Store, { from, to }: { from: Sealer; to: Sealer }): Promise<void> {
  for (const row of await work.selectFrom('tls_certificates').selectAll().execute()) {
    const sealed_key = to.seal(purposeOf(row.role), pemOf(open(row, from)));
    await work.updateTable('tls_certificates').set({ sealed_key }).where('role', '=', row.role).execute();
  }
}

async function find(store: Store, role: Role): Promise<TlsCertificateRow | null> {
  return (await store.selectFrom('tls_certificates').selectAll().where('role', '=', role).executeTakeFirst()) ?? null;
}

async function add(store: Store, row: TlsCertificateRow): Promise<void> {
  await store
    .insertInto('tls_certificates')
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

async function replace(store: Store, { role, certificate }: TlsCertificateRow, next: string): Promise<void> {
  await store
    .updateTable('tls_certificates')
    .set({ certificate: next })
    .where('role', '=', role)
    .where('certificate', '=', certificate)
    .execute();
}

function isDue({ validFromDate, validToDate }: X509Certificate, role: Role, now: number): boolean {
  return now > validToDate.getTime() - terms[role].renewedMs || now < validFromDate.getTime();
}

function names(certificate: X509Certificate, host: string): boolean {
  return (isIP(host) === 0 ? certificate.checkHost(host) : certificate.checkIP(host)) !== undefined;
}

function signed(certificate: X509Certificate, authority: KeyObject): boolean {
  return certificate.verify(createPublicKey(authority));
}

function commonNameOf({ subject }: X509Certificate): string {
  return subject.replace(/^CN=/, '');
}

interface Subject {
  role: Role;
  name: string;
  key: KeyObject;
  now: number;
}

interface Issuer {
  name: string;
  key: KeyObject;
}

const ecdsaWithSha256 = new AlgorithmIdentifier({ algorithm: '1.2.840.10045.4.3.2' });

/** A signed certificate (RFC 5280), in PEM. */
function certificateOf({ role, name, key, now }: Subject, issuer: Issuer): string {
  const body = new TBSCertificate({
    version: Version.v3,
    serialNumber: serialNumber(),
    signature: ecdsaWithSha256,
    issuer: distinguishedName(issuer.name),
    validity: new Validity({ notBefore: new Date(now - BEFORE_MS), notAfter: new Date(now + terms[role].validMs) }),
    subject: distinguishedName(name),
    subjectPublicKeyInfo: publicKeyInfo(key),
    extensions: new Extensions(extensionsOf(role, { name, key, issuer: createPublicKey(issuer.key) })),
  });
  const signatureValue = sign('sha256', Buffer.from(AsnConvert.serialize(body)), issuer.key);
  const whole = new Certificate({
    tbsCertificate: body,
    signatureAlgorithm: ecdsaWithSha256,
    signatureValue: bytesOf(signatureValue),
  });
  return new X509Certificate(Buffer.from(AsnConvert.serialize(whole))).toString();
}

function extensionsOf(role: Role, { name, key, issuer }: { name: string; key: KeyObject; issuer: KeyObject }) {
  const isAuthority = role === 'authority';
  const usage = isAuthority ? KeyUsageFlags.keyCertSign : KeyUsageFlags.digitalSignature;
  return [
    extension(
      id_ce_basicConstraints,
      new BasicConstraints(isAuthority ? { cA: true, pathLenConstraint: 0 } : {}),
      true,
    ),
    extension(id_ce_keyUsage, new KeyUsage(usage), true),
    extension(id_ce_subjectKeyIdentifier, new SubjectKeyIdentifier(keyIdentifier(key))),
    extension(
      id_ce_authorityKeyIdentifier,
      new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(keyIdentifier(issuer)) }),
    ),
    ...(isAuthority
      ? []
      : [
          extension(id_ce_extKeyUsage, new ExtendedKeyUsage([id_kp_serverAuth])),
          extension(id_ce_subjectAltName, new SubjectAlternativeName([alternativeName(name)])),
        ]),
  ];
}

function extension(extnID: string, value: unknown, critical = false): Extension {
  return new Extension({ extnID, critical, extnValue: new OctetString(AsnSerializer.serialize(value)) });
}

function alternativeName(host: string): GeneralName {
  return new GeneralName(isIP(host) === 0 ? { dNSName: host } : { iPAddress: host });
}

function distinguishedName(commonName: string): Name {
  const value = new AttributeValue({ utf8String: commonName });
  return new Name([new RelativeDistinguishedName([new AttributeTypeAndValue({ type: '2.5.4.3', value })])]);
}

function publicKeyInfo(key: KeyObject): SubjectPublicKeyInfo {
  return AsnConvert.parse(key.export({ type: 'spki', format: 'der' }), SubjectPublicKeyInfo);
}

function keyIdentifier(key: KeyObject): ArrayBuffer {
  return bytesOf(
    createHash('sha1')
      .update(Buffer.from(publicKeyInfo(key).subjectPublicKey))
      .digest(),
  );
}

/** Positive, of 16 bytes. */
function serialNumber(): ArrayBuffer {
  return bytesOf(Buffer.from([0x40, ...randomBytes(15)]));
}

function bytesOf(buffer: Buffer): ArrayBuffer {
  return Uint8Array.from(buffer).buffer;
}
