import { generateKeyPairSync } from 'node:crypto';
import { mutationsOf } from '../../fixtures/world/signatures/mutations.ts';
import { newSigningKey, signingKeyOf, signStatement } from '../../fixtures/world/signatures/signBundle.ts';
import {
  signImage,
  signSimply,
  simplePayload,
  statementAboutImage,
} from '../../fixtures/world/signatures/signImage.ts';
import { byIdentity, byKey, key, sigstore } from '../../fixtures/world/signatures/trusted.ts';
import type { ImageSignature, SimpleSignature } from './formats.ts';
import type { BundleTrust } from './trust.ts';
import { verifyImage } from './verifyImage.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const other = `sha256:${'b'.repeat(64)}`;
const image = { digest, nameFault: () => null };
const signerOf = ({ hint }: { hint: string }) => `key SHA256:${hint.replace('=', '')}`;
const bundled = (json: unknown): ImageSignature => ({ bundle: Buffer.from(JSON.stringify(json)) });
const payload = simplePayload(digest);
const holder = 'release@example.com (https://id.example)';

/** Why a signature is not believed; null for one that is. */
function faultOf(signature: ImageSignature, trust: BundleTrust): string | null {
  const { signers, faults } = verifyImage(trust, image, [signature]);
  return signers.length > 0 ? null : faults.join();
}

describe.each([
  ['ECDSA on P-256', newSigningKey()],
  ['ECDSA on P-384', signingKeyOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).privateKey)],
  ['Ed25519', signingKeyOf(generateKeyPairSync('ed25519').privateKey)],
  ['RSA', signingKeyOf(generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey)],
])('a key of %s', (_kind, signing) => {
  it.each([
    ['cosign 2', signSimply(simplePayload(digest), signing)],
    ['cosign 3', bundled(signImage(digest, signing))],
  ])('is accepted in the form of %s', (_form, signature) => {
    const trust = { ...byKey, keys: [key.publicPem, signing.publicPem] };
    expect(verifyImage(trust, image, [signature])).toEqual({ signers: [signerOf(signing)], faults: [] });
  });
});

it.each([
  ['cosign 2', sigstore.signSimply(simplePayload(digest))],
  ['cosign 3', bundled(sigstore.sign(statementAboutImage(digest)))],
])('accepts the holder of a certificate in the form of %s', (_form, signature) => {
  expect(verifyImage(byIdentity, image, [signature])).toEqual({ signers: [holder], faults: [] });
  expect(faultOf(signature, byKey)).toMatch(/no identity is trusted/);
});

it('counts a signer once, in whatever forms, and reports the place of each rejected signature', () => {
  const signatures = [signSimply(simplePayload(digest), key), bundled({}), bundled(signImage(digest, key))];
  expect(verifyImage(byKey, image, signatures)).toEqual({
    signers: [signerOf(key)],
    faults: [expect.stringMatching(/^signature 2: it is not a Sigstore bundle v0\.3/)],
  });
  expect(verifyImage({ ...byKey, root: '{' }, image, signatures)).toEqual({
    signers: [],
    faults: ['the trust root is not JSON'],
  });
});

it('reports several signers in order, and a bundle that is not JSON', () => {
  const others = [newSigningKey(), newSigningKey(), newSigningKey()];
  const trust = { ...byKey, keys: others.map(({ publicPem }) => publicPem) };
  const expected = others.map(signerOf).sort();
  for (const order of [others, others.toReversed()]) {
    const signatures = order.map((each) => signSimply(payload, each));
    expect(verifyImage(trust, image, signatures).signers).toEqual(expected);
  }
  expect(faultOf({ bundle: Buffer.from('{') }, byKey)).toBe('signature 1: its Sigstore bundle is not JSON');
});

it.each([
  ['a payload', signSimply(simplePayload(digest, 'elsewhere.example/x'), key)],
  [
    'a statement',
    bundled(
      signStatement(
        {
          ...statementAboutImage(digest),
          subject: [{ ...statementAboutImage(digest).subject[0], name: 'elsewhere.example/x' }],
        },
        key,
      ),
    ),
  ],
])('refuses %s that names another repository', (_form, signature) => {
  const nameFault = (name: string) => (name === 'shop/web' ? null : `it names ${name}`);
  const { signers, faults } = verifyImage(byKey, { digest, nameFault }, [signature]);
  expect({ signers, faults }).toEqual({ signers: [], faults: ['signature 1: it names elsewhere.example/x'] });
  expect(faultOf(signature, byKey)).toBeNull();
});

it.each<[string, object | string]>([
  ['of another image', simplePayload(other)],
  ...mutationsOf(payload)
    .filter(
      ({ words }) => !/docker-reference (changed|empty|doubled|a text)|optional (dropped|null|an object)/.test(words),
    )
    .map(({ words, value }): [string, object] => [words, value as object]),
  ['with more in it', { ...payload, more: 1 }],
  ['with more that is critical', { ...payload, critical: { ...payload.critical, more: 1 } }],
  ['with a key twice', JSON.stringify(payload).replace('"type"', '"type":"x","type"')],
  ['that is not JSON', 'hello'],
  ['of a podman signature', JSON.stringify(payload).replace('cosign container', 'atomic container')],
])('a genuine signature of a payload %s is refused', (_what, changed) => {
  expect(faultOf(signSimply(changed, key), byKey)).toMatch(
    /^signature 1: (it is of another image|its payload|\S+ stands twice)/,
  );
  expect(faultOf(sigstore.signSimply(changed), byIdentity)).toMatch(
    /^signature 1: (it is of another image|its payload|\S+ stands twice)/,
  );
});

it.each([{ digest: 'latest' }, { digest: `${digest}a` }, { digest: `${digest}\n` }, { digest: digest.toUpperCase() }])(
  'rejects a payload about $digest',
  ({ digest: wrong }) => {
    const fault = 'signature 1: its payload is not one about an image: ';
    expect(faultOf(signSimply(simplePayload(wrong), key), byKey)).toContain(fault);
  },
);

const statement = statementAboutImage(digest);

it.each<[string, object | string]>([
  ['of another image', statementAboutImage(other)],
  ...mutationsOf(statement)
    .filter(({ words }) => !words.includes('_type changed'))
    .map(({ words, value }): [string, object] => [words, value as object]),
  ['about a bundle', { ...statement, predicateType: 'urn:deployd:bundle:v1', predicate: {} }],
  ['of an origin', { ...statement, predicateType: 'https://slsa.dev/provenance/v1', predicate: {} }],
  ['with more in it', { ...statement, more: 1 }],
  ['of two images', { ...statement, subject: [...statement.subject, ...statementAboutImage(other).subject] }],
  ['with annotations that are no object', { ...statement, subject: [{ ...statement.subject[0], annotations: 'x' }] }],
  ['with a predicate that is not an object', { ...statement, predicate: 'x' }],
  ['with a key twice', JSON.stringify(statement).replace('"subject"', '"subject":[],"subject"')],
])('a genuine signature of a statement %s is refused', (_what, changed) => {
  const fault = /^signature 1: (it is of another image|its statement|\S+ stands twice)/;
  expect(faultOf(bundled(signStatement(changed, key)), byKey)).toMatch(fault);
  expect(faultOf(bundled(sigstore.sign(changed)), byIdentity)).toMatch(fault);
});

it.each([
  ['annotations', { subject: [{ ...statement.subject[0], annotations: { env: 'production' } }] }],
  ['a name', { subject: [{ ...statement.subject[0], name: 'shop/web' }] }],
  ['a predicate', { predicate: {} }],
])('a statement may have %s', (_what, more) => {
  expect(faultOf(bundled(signStatement({ ...statement, ...more }, key)), byKey)).toBeNull();
});

describe('the data beside the payload', () => {
  const byHolder = sigstore.signSimply(payload);
  const ofKey = signSimply(payload, key);
  const entry = byHolder.annotations['dev.sigstore.cosign/bundle'];
  const withoutEntry = Object.fromEntries(
    Object.entries(byHolder.annotations).filter(([name]) => name !== 'dev.sigstore.cosign/bundle'),
  );
  const changedBy = (signature: SimpleSignature, changes: object): SimpleSignature => ({
    ...signature,
    annotations: { ...signature.annotations, ...changes },
  });

  it.each([
    ['a key', ofKey, byKey],
    ['a certificate', byHolder, byIdentity],
  ])(
    'is refused for a signature by %s with every field dropped, changed, doubled or of another type',
    (_by, signature, trust) => {
      const mutations = mutationsOf(signature.annotations);
      expect(mutations.length).toBeGreaterThan(7);
      const outcomes = mutations.map(({ words, value }) => {
        return [words, faultOf({ ...signature, annotations: value as SimpleSignature['annotations'] }, trust)];
      });
      expect(outcomes.filter(([, fault]) => fault === null || /malformed: (Cannot|undefined)/.test(fault!))).toEqual(
        [],
      );
    },
  );

  it.each<[string, SimpleSignature, RegExp]>([
    ['no signature', { ...ofKey, annotations: {} }, /it has no annotation with a signature/],
    [
      'the signature of another payload',
      { ...ofKey, annotations: signSimply(simplePayload(other), key).annotations },
      /by no key that is trusted/,
    ],
    [
      'another spelling of it',
      changedBy(ofKey, {
        'dev.cosignproject.cosign/signature': `${String(ofKey.annotations['dev.cosignproject.cosign/signature'])}\n`,
      }),
      /its signature is not base64/,
    ],
    [
      'an empty signature',
      changedBy(ofKey, { 'dev.cosignproject.cosign/signature': '' }),
      /its signature is not base64/,
    ],
    [
      'a signature that is not text',
      changedBy(ofKey, { 'dev.cosignproject.cosign/signature': 7 }),
      /its annotation dev\.cosignproject\.cosign\/signature is not text/,
    ],
    [
      'a damaged certificate',
      changedBy(byHolder, { 'dev.sigstore.cosign/certificate': '-----BEGIN CERTIFICATE-----\nAAAA' }),
      /its certificate is damaged/,
    ],
    [
      'a promise that is not base64',
      changedBy(byHolder, { 'dev.sigstore.cosign/bundle': String(entry).replace(/"SignedEntryTimestamp":"/, '$&.') }),
      /the promise of its log is not base64/,
    ],
    [
      'the log entry of somebody else beside the signature of a key',
      changedBy(ofKey, { 'dev.sigstore.cosign/bundle': entry }),
      /TLOG_BODY_ERROR/,
    ],
    [
      'a timestamp that is not text',
      changedBy(byHolder, { 'dev.sigstore.cosign/rfc3161timestamp': '{"SignedRFC3161Timestamp":7}' }),
      /its timestamp is malformed/,
    ],
    [
      'a timestamp that is not base64',
      changedBy(byHolder, { 'dev.sigstore.cosign/rfc3161timestamp': '{"SignedRFC3161Timestamp":"-"}' }),
      /its timestamp is not base64/,
    ],
    ['no certificate', changedBy(byHolder, { 'dev.sigstore.cosign/certificate': '' }), /by no key that is trusted/],
    [
      'two certificates',
      changedBy(byHolder, {
        'dev.sigstore.cosign/certificate': String(byHolder.annotations['dev.sigstore.cosign/certificate']).repeat(2),
      }),
      /its certificate is not one in PEM/,
    ],
    [
      'the certificate of another',
      changedBy(byHolder, {
        'dev.sigstore.cosign/certificate': sigstore.signSimply(payload).annotations['dev.sigstore.cosign/certificate'],
      }),
      /_ERROR/,
    ],
    [
      'the log entry of another',
      changedBy(byHolder, {
        'dev.sigstore.cosign/bundle': sigstore.signSimply(payload).annotations['dev.sigstore.cosign/bundle'],
      }),
      /TLOG_BODY_ERROR/,
    ],
    [
      'no log entry, so without a verified time',
      { ...byHolder, annotations: withoutEntry },
      /TIMESTAMP_ERROR: expected 1 timestamps, got 0/,
    ],
    [
      'a log entry with more in it',
      changedBy(byHolder, { 'dev.sigstore.cosign/bundle': '{"more":1}' }),
      /its log entry is malformed/,
    ],
    [
      'a log entry that is not JSON',
      changedBy(byHolder, { 'dev.sigstore.cosign/bundle': '{' }),
      /its log entry is not JSON/,
    ],
    [
      'a timestamp that is none',
      changedBy(byHolder, { 'dev.sigstore.cosign/rfc3161timestamp': '{}' }),
      /its timestamp is malformed/,
    ],
    [
      'the timestamp of nobody',
      changedBy(byHolder, { 'dev.sigstore.cosign/rfc3161timestamp': '{"SignedRFC3161Timestamp":"AAAA"}' }),
      /signature 1: /,
    ],
  ])('is refused with %s', (_what, signature, fault) => {
    expect(faultOf(signature, { ...byIdentity, keys: [key.publicPem] })).toMatch(fault);
  });

  it.each([
    { integratedTime: -1 },
    { integratedTime: 0.5 },
    { integratedTime: 2 ** 53 },
    { logIndex: '1' },
    { logID: 7 },
    { logID: 'A'.repeat(64) },
    { logID: 'a'.repeat(65) },
    { body: 7 },
  ])('is refused with a log entry with %j', (changes) => {
    const { Payload, ...promise } = JSON.parse(String(entry)) as { Payload: object };
    const changed = JSON.stringify({ ...promise, Payload: { ...Payload, ...changes } });
    const fault = 'its log entry is malformed: ';
    expect(faultOf(changedBy(byHolder, { 'dev.sigstore.cosign/bundle': changed }), byIdentity)).toContain(fault);
  });

  it('is not looked at where it says nothing of the signer', () => {
    expect(faultOf(changedBy(byHolder, { 'dev.sigstore.cosign/chain': 'x', other: 1 }), byIdentity)).toBeNull();
  });

  it.each([
    [
      'another subject',
      { subject: 'intern@example.com' },
      /intern@example\.com \(https:\/\/id\.example\), who is not trusted/,
    ],
    [
      'a certificate that had expired',
      { validFrom: new Date(Date.now() - 7_200_000), validUntil: new Date(Date.now() - 3_600_000) },
      /CERTIFICATE_ERROR/,
    ],
    ['a certificate that nobody logged', { certificateLogged: false }, /CERTIFICATE_ERROR/],
  ])('is refused with %s', (_what, options, fault) => {
    expect(faultOf(sigstore.signSimply(payload, options), byIdentity)).toMatch(fault);
  });
});
