import { execFileSync } from 'node:child_process';
import { createHash, createPublicKey, X509Certificate } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCertificateRequest } from '../../../fixtures/world/servers/sigstore/certificateRequest.ts';
import { newSigstore } from '../../../fixtures/world/signatures/keyless.ts';
import { newSigningKey } from '../../../fixtures/world/signatures/signBundle.ts';
import { byIdentity, claim, release, sha256, sigstore } from '../../../fixtures/world/signatures/trusted.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { statementOf } from '../readSignature.ts';
import { verifySignatures } from '../verifySignatures.ts';
import type { Envelope } from './signBundle.ts';
import { readCertificate, signKeyless, type SigstoreServices } from './signKeyless.ts';

const statement = { sha256, claim };
const root = sigstore.trustRoot();
const signer = `${release.subject} (${release.issuer})`;

function pemOf(der: Buffer): string {
  return `-----BEGIN CERTIFICATE-----\n${der.toString('base64')}\n-----END CERTIFICATE-----\n`;
}

/** The services of an instance without a timestamp authority. */
function servicesOf({ certify, enter }: ReturnType<typeof newSigstore>): SigstoreServices {
  return {
    certify: (request) =>
      Promise.resolve(pemOf(certify(parseCertificateRequest(request)?.spki ?? Buffer.of(), release))),
    log: (envelope, pem) => {
      const dsseEnvelope = { ...envelope, signatures: [...envelope.signatures] };
      return Promise.resolve(enter({ dsseEnvelope }, new X509Certificate(pem).raw));
    },
    timestamp: null,
  };
}

const services = servicesOf(sigstore);
const signed = (changes: Partial<SigstoreServices>, trusted: string | null = null) =>
  signKeyless(statement, { ...services, ...changes }, trusted);

it.each([root, null])('makes a signature that hosts accept by the identity, and names it', async (trusted) => {
  const made = await signed({}, trusted);
  expect(made.signer).toBe(signer);
  const json: unknown = JSON.parse(JSON.stringify(made.signature));
  expect(statementOf(json)).toEqual(statement);
  expect(verifySignatures(byIdentity, sha256, [json])).toEqual({ verified: [{ signer, claim }], faults: [] });
});

it('signs with another key each time', async () => {
  const keys = new Set<string>();
  const certify: SigstoreServices['certify'] = (request) => {
    keys.add(parseCertificateRequest(request)?.spki.toString('hex') ?? '');
    return services.certify(request);
  };
  await signed({ certify });
  await signed({ certify });
  expect(keys.size).toBe(2);
});

it('asks for a certificate as openssl reads it', async () => {
  const requests: string[] = [];
  await signed({ certify: (request) => services.certify((requests.push(request), request)) });
  const told = execFileSync('openssl', ['req', '-verify', '-noout', '-text'], { input: requests[0], stdio: 'pipe' });
  expect(requests[0]).toMatch(/^-----BEGIN CERTIFICATE REQUEST-----\n(\S{64}\n)+\S{1,64}\n-----END \D+-----\n$/);
  expect(String(told)).toMatch(/Subject:\s*\n.*Public Key Info/);
  expect(String(told)).toContain('Signature Algorithm: ecdsa-with-SHA256');
});

const unsound = 'it is not a Sigstore bundle v0.3';

it.each<[string, Partial<SigstoreServices>, string]>([
  ['no certificate', { certify: () => Promise.resolve('none') }, 'is not a certificate for an identity'],
  [
    'a certificate for nobody',
    { certify: () => Promise.resolve(pemOf(sigstore.root)) },
    'is not a certificate for an identity',
  ],
  [
    'a certificate for another key',
    {
      certify: () => {
        const spki = createPublicKey(newSigningKey().publicPem).export({ type: 'spki', format: 'der' });
        return Promise.resolve(pemOf(sigstore.certify(spki, release)));
      },
    },
    'the certificate is for another key',
  ],
  ['no entry', { log: () => Promise.resolve({}) }, unsound],
  [
    'an entry of another tree',
    {
      log: async (...of) => {
        const entry = (await services.log(...of)) as { inclusionProof: object };
        return { ...entry, inclusionProof: { ...entry.inclusionProof, treeSize: '3' } };
      },
    },
    'its inclusion proof is of another tree than its checkpoint',
  ],
  ['no timestamp', { timestamp: () => Promise.resolve(Buffer.from('none')) }, 'is not a timestamp of the signature'],
])('makes none with %s', async (_what, changes, message) => {
  await expect(signed(changes)).rejects.toThrow(message);
});

it.each([
  ['issued by another authority', { certify: servicesOf(newSigstore()).certify }],
  ['in another log', { log: servicesOf(newSigstore()).log }],
])('makes none that hosts with the trust root reject: %s', async (_what, changes) => {
  await expect(signed(changes)).resolves.toMatchObject({ signer });
  await expect(signed(changes, root)).rejects.toThrow('hosts would reject it: signature 1: ');
});

describe('with a timestamp authority', () => {
  const dir = tempDir();
  const at = (name: string) => join(dir, name);
  const openssl = (args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'pipe' });
  const reply = (query: Buffer) => {
    writeFileSync(at('query'), query);
    openssl(['ts', '-reply', '-config', at('tsa.cnf'), '-queryfile', at('query'), '-out', at('reply')]);
    return readFileSync(at('reply'));
  };

  beforeAll(() => {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'tsa.key'];
    const names = ['-subj', '/CN=tsa', '-addext', 'extendedKeyUsage=critical,timeStamping'];
    openssl(['req', '-x509', '-days', '1', ...key, ...names, '-out', 'tsa.pem']);
    writeFileSync(at('serial'), '01\n');
    const files = ['signer_cert = tsa.pem', 'signer_key = tsa.key', 'serial = serial'];
    const digests = ['signer_digest = sha256', 'digests = sha256', 'ess_cert_id_alg = sha256'];
    const lines = ['[tsa]', 'default_tsa = one', '[one]', ...files, ...digests, 'default_policy = 1.2.3.4.1'];
    writeFileSync(at('tsa.cnf'), lines.join('\n'));
  });

  it('has its signature timestamped, with another query each time', async () => {
    const queries: string[] = [];
    const timestamp = (query: Buffer) => {
      queries.push(query.toString('hex'));
      return Promise.resolve(reply(query));
    };
    const made = await signed({ timestamp });
    const rfc3161Timestamps = [{ signedTimestamp: readFileSync(at('reply'), 'base64') }];
    expect(made.signature).toMatchObject({
      verificationMaterial: { timestampVerificationData: { rfc3161Timestamps } },
    });
    expect(String(openssl(['ts', '-query', '-in', at('query'), '-text']))).toMatch(
      /sha256[^]*Nonce: 0x[4-7][^]*required: yes/,
    );
    const { dsseEnvelope } = made.signature as { dsseEnvelope: Envelope };
    const imprint = createHash('sha256').update(dsseEnvelope.signatures[0].sig, 'base64').digest('hex');
    expect(queries[0]).toContain(imprint);
    await signed({ timestamp });
    expect(new Set(queries).size).toBe(2);
  });

  it('makes none that hosts reject because they do not know the authority', async () => {
    const timestamp = (query: Buffer) => Promise.resolve(reply(query));
    await expect(signed({ timestamp }, root)).rejects.toThrow('TIMESTAMP_ERROR: timestamp could not be verified');
  });

  it('takes no timestamp of another signature', async () => {
    let first: Buffer | undefined;
    const timestamp = (query: Buffer) => Promise.resolve((first ??= reply(query)));
    await signed({ timestamp });
    await expect(signed({ timestamp })).rejects.toThrow('is not a timestamp of the signature');
  });
});

const dir = tempDir();
const issuer = '1.3.6.1.4.1.57264.1.8=ASN1:UTF8String:https://id.example';
const [email, uri] = ['subjectAltName=email:release@example.com', 'subjectAltName=URI:https://ci.example/a/b@main'];

/** A certificate with these extensions, by openssl. */
function certificateWith(...extensions: string[]): { pem: string; key: Buffer } {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(dir, 'key')];
  const more = extensions.flatMap((each) => ['-addext', each]);
  const pem = String(execFileSync('openssl', ['req', '-x509', '-subj', '/CN=a', ...key, ...more], { stdio: 'pipe' }));
  return { pem, key: createPublicKey(pem).export({ type: 'spki', format: 'der' }) };
}

it.each([
  ['an e-mail address', email, 'release@example.com'],
  ['a URI', uri, 'https://ci.example/a/b@main'],
])('reads the audience: %s', (_what, name, subject) => {
  const { pem, key } = certificateWith(name, issuer);
  const rawBytes = new X509Certificate(pem).raw.toString('base64');
  expect(readCertificate(pem, key)).toEqual({ rawBytes, identity: { subject, issuer: 'https://id.example' } });
});

it.each([
  ['nobody', [issuer]],
  ['somebody whom no provider knew', [email]],
  ['somebody whom a provider without a name knew', [email, '1.3.6.1.4.1.57264.1.8=ASN1:UTF8String:']],
  ['somebody whom a provider knew whose name is not text', [email, '1.3.6.1.4.1.57264.1.8=DER:ff']],
])('takes none for %s', (_what, extensions) => {
  const { pem, key } = certificateWith(...extensions);
  expect(() => readCertificate(pem, key)).toThrow('is not a certificate for an identity');
});
