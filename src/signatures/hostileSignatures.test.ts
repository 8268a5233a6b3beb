import { type KeylessOptions, newSigstore } from '../../fixtures/world/signatures/keyless.ts';
import { mutationsOf } from '../../fixtures/world/signatures/mutations.ts';
import { envelopeOf, signBundle, signStatement, statementAbout } from '../../fixtures/world/signatures/signBundle.ts';
import { byIdentity, byKey, claim, key, release, sha256, sigstore } from '../../fixtures/world/signatures/trusted.ts';
import type { BundleTrust } from './trust.ts';
import { verifySignatures } from './verifySignatures.ts';

/** Why a signature is not believed; null for one that is. */
function faultOf(signature: unknown, trust: BundleTrust): string | null {
  const { verified, faults } = verifySignatures(trust, sha256, [signature]);
  return verified.length > 0 ? null : faults.join();
}

describe.each([
  ['a key', signBundle(sha256, claim, key), byKey],
  ['a certificate', sigstore.sign(statementAbout(sha256, claim)), byIdentity],
])('a signature by %s', (_signer, signature, trust) => {
  it('is refused with its reason for every field that is dropped, doubled, changed or of another type', () => {
    expect(faultOf(signature, trust)).toBeNull();
    const mutations = mutationsOf(signature);
    expect(mutations.length).toBeGreaterThan(60);
    const outcomes = mutations.map(({ words, value }) => [words, faultOf(value, trust)]);
    expect(
      outcomes.filter(([, fault]) => fault === null || /^signature 1: (malformed: (Cannot|undefined)|$)/.test(fault!)),
    ).toEqual([]);
  });
});

const { predicate, ...rest } = statementAbout(sha256, claim) as Record<string, unknown>;
const hash = { sha256 };

it.each<[string, object | string, RegExp]>([
  ['of another archive', statementAbout('b'.repeat(64), claim), /it is of another archive \(b{64}\)/],
  [
    'of two archives',
    { ...rest, predicate, subject: [{ digest: hash }, { digest: { sha256: 'b'.repeat(64) } }] },
    /\/subject must NOT have more than 1/,
  ],
  [
    'of an archive by two digests',
    { ...rest, predicate, subject: [{ digest: { ...hash, sha512: 'x' } }] },
    /\(sha512\)/,
  ],
  [
    'of another version of statements',
    { ...rest, predicate, _type: 'https://in-toto.io/Statement/v2' },
    /\/_type must be equal to one of/,
  ],
  [
    'of a digest that is none',
    { ...rest, predicate, subject: [{ digest: { sha256: 'a' } }] },
    /\/subject\/0\/digest\/sha256 must match pattern/,
  ],
  ['of no archive', { ...rest, predicate, subject: [] }, /\/subject must NOT have fewer than 1/],
  [
    'of another predicate type',
    { ...rest, predicate, predicateType: 'https://slsa.dev/provenance/v1' },
    /\/predicateType must be equal to constant/,
  ],
  ['without a predicate', rest, /about a bundle: must have required property 'predicate'$/],
  [
    'with an incomplete predicate',
    { ...rest, predicate: { name: 'shop', env: 'eu-1', version: '1.2' } },
    /required property 'sequence'/,
  ],
  [
    'with a sequence as text',
    { ...rest, predicate: { ...claim, sequence: '3' } },
    /\/predicate\/sequence must be integer/,
  ],
  [
    'with more than a bundle has',
    { ...rest, predicate: { ...claim, flags: [] } },
    /\/predicate must NOT have additional properties \(flags\)/,
  ],
  [
    'with a key twice',
    JSON.stringify(statementAbout(sha256, claim)).replace('"sequence"', '"sequence":9,"sequence"'),
    /predicate\.sequence stands twice/,
  ],
  ['that is not JSON', 'hello', /its statement is not JSON/],
  ['that is null', 'null', /its statement is not one about a bundle/],
])('a genuine signature of a statement %s is refused', (_what, statement, fault) => {
  expect(faultOf(signStatement(statement, key), byKey)).toMatch(fault);
  expect(faultOf(sigstore.sign(statement), byIdentity)).toMatch(fault);
});

const [hour, day] = [3_600_000, 86_400_000];
const ago = (ms: number) => new Date(Date.now() - ms);

it.each<[string, KeylessOptions, RegExp]>([
  [
    'another subject',
    { subject: 'intern@example.com' },
    /^signature 1: subject: it is by intern@example\.com \(https:\/\/id\.example\), who is not trusted/,
  ],
  ['a subject that begins with the trusted one', { subject: 'release@example.com.evil.example' }, /who is not trusted/],
  ['a subject that ends with the trusted one', { subject: 'not-release@example.com' }, /who is not trusted/],
  ['a subject in other case', { subject: 'Release@example.com' }, /who is not trusted/],
  ['a subject whose dot is another letter', { subject: 'release@exampleXcom' }, /who is not trusted/],
  ['a subject as a URI', { subject: 'mailto://release@example.com' }, /who is not trusted/],
  ['a subject with a NUL', { subject: 'release@example.com\0' }, /who is not trusted/],
  ['another issuer', { issuer: 'https://id.example.evil' }, /who is not trusted/],
  ['the issuer with a slash', { issuer: 'https://id.example/' }, /who is not trusted/],
  [
    'no promise of the log, so without a verified time',
    { promise: false },
    /time: it has no verified time .* of release@example\.com was valid \(TIMESTAMP_ERROR: expected 1 timestamps, got 0\)/,
  ],
  [
    'no log of certificates',
    { certificateLogged: false },
    /instance: no certificate log .*\(CERTIFICATE_ERROR: expected 1 SCTs, got 0\)/,
  ],
  [
    'a certificate that was not valid yet',
    { validFrom: new Date(Date.now() + hour), validUntil: new Date(Date.now() + day) },
    /time: .*CERTIFICATE_ERROR/,
  ],
  ['a time before the log and the authority were valid', { loggedAt: ago(800 * day) }, /time: .*_ERROR/],
])('a certificate with %s is refused', (_what, options, fault) => {
  expect(faultOf(sigstore.sign(statementAbout(sha256, claim), options), byIdentity)).toMatch(fault);
});

it('accepts a URI as subject only in its exact form', () => {
  const uri = 'https://forge.example/shop/.workflow@refs/heads/main';
  const trust = { ...byIdentity, identities: [{ ...release, subject: uri }] };
  expect(faultOf(sigstore.sign(statementAbout(sha256, claim), { subject: uri }), trust)).toBeNull();
  expect(
    faultOf(sigstore.sign(statementAbout(sha256, claim), { subject: uri.replace('main', 'main2') }), trust),
  ).toMatch(/not trusted/);
});

it('subject and issuer of two identities do not make a third', () => {
  const identities = [
    { ...release, issuer: 'https://other.example' },
    { ...release, subject: 'other@example.com' },
  ];
  expect(faultOf(sigstore.sign(statementAbout(sha256, claim)), { ...byIdentity, identities })).toMatch(
    /who is not trusted/,
  );
});

it('the authority, the log and the promises of another instance are refused', () => {
  const [other, statement] = [newSigstore(), statementAbout(sha256, claim)];
  expect(faultOf(other.sign(statement), byIdentity)).toMatch(
    /root: no authority of the trust root issued the certificate of release@example\.com; .*another Sigstore instance/,
  );
  const rest = JSON.parse(other.trustRoot()) as object;
  const mixed = { ...rest, tlogs: (JSON.parse(sigstore.trustRoot()) as { tlogs: object }).tlogs };
  expect(faultOf(other.sign(statement), { ...byIdentity, root: JSON.stringify(mixed) })).toMatch(
    /instance: its transparency log is not in the trust root/,
  );
});

it('does not accept log entries after the end of a root', () => {
  const ended = { ...byIdentity, root: sigstore.trustRoot({ end: ago(hour).toISOString() }) };
  expect(faultOf(sigstore.sign(statementAbout(sha256, claim)), ended)).toMatch(/_ERROR/);
});

const mediaType = 'application/vnd.dev.sigstore.trustedroot+json;version=0.1';

it.each([
  ['{', 'the trust root is not JSON'],
  ['{"tlogs":[{"publicKey":{"keyDetails":"none"}}]}', 'the trust root is not a Sigstore trust root'],
  [
    JSON.stringify({ mediaType, tlogs: [{ publicKey: { keyDetails: 'none' } }] }),
    'the trust root is a damaged trust root',
  ],
])('accepts nothing from a root that cannot be read: %s', (root, fault) => {
  const damaged = { ...byIdentity, keys: [key.publicPem], root };
  expect(faultOf(sigstore.sign(statementAbout(sha256, claim)), damaged)).toBe(fault);
  expect(faultOf(signBundle(sha256, claim, key), damaged)).toBe(fault);
});

it('a log entry for the signature of a key counts only if a root lists the trusted logs', () => {
  const signature = signBundle(sha256, claim, key);
  expect(faultOf(sigstore.log(signature), { ...byIdentity, keys: [key.publicPem] })).toBeNull();
  expect(faultOf(newSigstore().log(signature), { ...byIdentity, keys: [key.publicPem] })).toMatch(/TLOG_/);
  const { tlogEntries } = sigstore.log(signBundle(sha256, { ...claim, sequence: 4 }, key)).verificationMaterial;
  const logged = { ...signature, verificationMaterial: { ...signature.verificationMaterial, tlogEntries } };
  expect(faultOf(logged, byKey)).toBeNull();
  expect(faultOf(logged, { ...byIdentity, keys: [key.publicPem] })).toMatch(/TLOG_BODY_ERROR/);
});

describe('the checkpoint of a proof', () => {
  const withCheckpoint = (edit: (envelope: string) => string) => {
    const text = JSON.stringify(sigstore.sign(statementAbout(sha256, claim)));
    return JSON.parse(text, (key, value: unknown) => (key === 'envelope' ? edit(value as string) : value)) as unknown;
  };

  it.each<[string, (envelope: string) => string]>([
    ['without a line end', (envelope) => envelope.trimEnd()],
    ['with text after it', (envelope) => `${envelope}more\n`],
    ['with another note after it', (envelope) => `${envelope}\n\nmore`],
    ['with text before its signature', (envelope) => envelope.replace('\u2014', 'more \u2014')],
  ])('%s is refused', (_what, edit) => {
    expect(faultOf(withCheckpoint(edit), byIdentity)).toMatch(/its checkpoint is not a signed note/);
  });
});

it('accepts any one of several identities', () => {
  const identities = [{ ...release, subject: 'other@example.com' }, release];
  expect(faultOf(sigstore.sign(statementAbout(sha256, claim)), { ...byIdentity, identities })).toBeNull();
});

it('a key that a root does not know needs no log, and a certificate is nothing without identities', () => {
  const both = { ...byIdentity, keys: [key.publicPem] };
  expect(faultOf(signBundle(sha256, claim, key), both)).toBeNull();
  expect(faultOf(sigstore.sign(statementAbout(sha256, claim)), byKey)).toMatch(/no identity is trusted/);
  expect(faultOf(sigstore.sign(statementAbout(sha256, claim)), { ...byIdentity, identities: [] })).toMatch(
    /no identity is trusted/,
  );
});

it.each<[string, unknown]>([
  ['null', null],
  ['undefined', undefined],
  ['a list of one', [signBundle(sha256, claim, key)]],
  ['a text', 'signature'],
  ['a list', []],
  [
    'a signature of a digest alone',
    {
      ...signBundle(sha256, claim, key),
      dsseEnvelope: undefined,
      messageSignature: { messageDigest: { algorithm: 'SHA2_256', digest: 'YQ==' }, signature: 'YQ==' },
    },
  ],
  [
    'an older format',
    { ...signBundle(sha256, claim, key), mediaType: 'application/vnd.dev.sigstore.bundle+json;version=0.1' },
  ],
  [
    'a payload of another type',
    {
      ...envelopeOf(statementAbout(sha256, claim), key.privateKey, 'application/json'),
      verificationMaterial: { publicKey: { hint: key.hint } },
    },
  ],
  ['a field that nobody knows', { ...signBundle(sha256, claim, key), more: 1 }],
  ['a list that nobody knows', { ...signBundle(sha256, claim, key), more: ['x'] }],
])('%s is refused', (_what, signature) => {
  expect(faultOf(signature, byKey)).toMatch(/^signature 1: it/);
});
