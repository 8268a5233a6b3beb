import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newSigstore } from '../../fixtures/world/signatures/keyless.ts';
import { mutationsOf } from '../../fixtures/world/signatures/mutations.ts';
import { newSigningKey, signingKeyOf } from '../../fixtures/world/signatures/signBundle.ts';
import { tempDir } from '../../fixtures/world/tempDir.ts';
import { readTrust } from './signatureFiles.ts';

const key = newSigningKey();
const now = new Date('2026-06-01T00:00:00Z');
const damaged = 'is a damaged trust root';
let dir: string;
beforeEach(() => void (dir = tempDir()));

function write(name: string, text: string): string {
  const path = join(dir, name);
  writeFileSync(path, text);
  return path;
}

it('reads keys and root, with a threshold of 1', async () => {
  const root = newSigstore().trustRoot();
  const identities = [{ issuer: 'https://id.example', subject: 'a@b.example' }];
  const read = await readTrust({ keys: [write('a.pub', key.publicPem)], identities, root: write('root.json', root) });
  expect(read).toMatchObject({ trust: { threshold: 1, keys: [key.publicPem], identities, root }, problems: [] });
});

it.each([
  ['a certificate', '-----BEGIN CERTIFICATE-----\nMII=\n-----END CERTIFICATE-----\n', 'is not a public key in PEM'],
  ['a private key', key.privateKey.export({ type: 'pkcs8', format: 'pem' }), 'is not a public key in PEM'],
  ['two keys', key.publicPem + newSigningKey().publicPem, 'contains more than one public key'],
  ['a damaged key', key.publicPem.replace('MF', 'AA'), 'is a damaged public key'],
  ['a short RSA key', rsaKey(1024), 'is an RSA key of less than 2048 bits'],
  ['a key on P-192', ecKey('P-192'), 'is an ECDSA key on the curve prime192v1; P-256, P-384, P-521 can be verified'],
  ['a key on P-224', ecKey('P-224'), 'is an ECDSA key on the curve secp224r1'],
  ['a key on a small curve of brainpool', ecKey('brainpoolP160r1'), 'is an ECDSA key on the curve brainpoolP160r1'],
  ['a key on a curve that cosign cannot read', ecKey('secp256k1'), 'is an ECDSA key on the curve secp256k1'],
  ['a key of another kind', otherKey(), 'is a key of the kind x25519; ECDSA, Ed25519 and RSA can be verified'],
])('leaves %s out, and says why', async (_kind, text, problem) => {
  const path = write('a.pub', text);
  const { trust, problems } = await readTrust({ threshold: 2, keys: [path, write('b.pub', key.publicPem)] });
  expect(trust).toMatchObject({ threshold: 2, keys: [key.publicPem], root: null });
  expect(problems).toEqual([expect.stringContaining(`${path} ${problem}`)]);
});

it.each([
  ['no JSON', 'hello', 'is not JSON'],
  ['JSON of another kind', '{"mediaType":"application/json"}', 'is not a Sigstore trust root'],
  ['null', 'null', 'is not a Sigstore trust root'],
  [
    'damaged',
    newSigstore()
      .trustRoot()
      .replace(/"rawBytes":"MII./, '"rawBytes":"AAAA'),
    'is a damaged trust root',
  ],
  ['without certificates', changedRoot(({ certificateAuthorities: [first] }) => delete first.certChain), damaged],
  ['without a log key', changedRoot(({ tlogs: [first] }) => delete first.publicKey), damaged],
  [
    'with an end that is no time',
    changedRoot(({ ctlogs: [{ publicKey: log }] }) => (log!.validFor.end = 'x')),
    damaged,
  ],
])('leaves a root that is %s out', async (_kind, text, problem) => {
  const path = write('root.json', text);
  expect(await readTrust({ root: path })).toMatchObject({ trust: { root: null }, problems: [`${path} ${problem}`] });
});

it('never waits for anything but a regular file', async () => {
  const pipe = join(dir, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const { problems } = await readTrust({ keys: [pipe, join(dir, 'none'), dir] });
  expect(problems).toEqual([
    `${pipe} cannot be read (ENOTREG)`,
    `${join(dir, 'none')} is missing`,
    `${dir} cannot be read (EISDIR)`,
  ]);
});

describe('the ends of a trust root', () => {
  const nextYear = new Date('2027-06-01T00:00:00Z');
  const end = '2026-07-01T00:00:00.000Z';
  const ofCertificate = [
    { what: 'certificate authority', end: nextYear },
    { what: 'transparency log', end: null },
    { what: 'certificate log', end: null },
  ];
  const validities = ({ certificateAuthorities, tlogs, ctlogs }: RootJson) => [
    ...certificateAuthorities.map(({ validFor }) => validFor),
    ...[...tlogs, ...ctlogs].map(({ publicKey }) => publicKey!.validFor),
  ];

  it.each<[string, string, object[]]>([
    ['of the certificate', newSigstore(now).trustRoot(), ofCertificate],
    ['null', changedRoot((root) => validities(root).forEach((each) => (each.end = null))), ofCertificate],
    ['without a start', changedRoot((root) => validities(root).forEach((each) => delete each.start)), ofCertificate],
    ['earlier', newSigstore(now).trustRoot({ end }), ofCertificate.map(({ what }) => ({ what, end: new Date(end) }))],
    [
      'of timestamp authorities',
      changedRoot((root) => (root.timestampAuthorities = structuredClone(root.certificateAuthorities))),
      [...ofCertificate, { what: 'timestamp authority', end: nextYear }],
    ],
    [
      'the last of several, and 1970 without one',
      changedRoot((root) => {
        const [log] = root.tlogs;
        root.tlogs = ['2026-01-01', '2026-03-01', '2026-02-01'].map((date) => ({
          ...log,
          publicKey: { ...log.publicKey, validFor: { end: `${date}T00:00:00Z` } },
        })) as RootJson['tlogs'];
        root.ctlogs = [] as unknown as RootJson['ctlogs'];
      }),
      [
        ofCertificate[0]!,
        { what: 'transparency log', end: new Date('2026-03-01') },
        { what: 'certificate log', end: new Date(0) },
      ],
    ],
  ])('are %s', async (_what, text, ends) => {
    expect(await readTrust({ root: write('root.json', text) })).toMatchObject({ problems: [], rootEnds: ends });
  });

  it('are times or missing, whatever field of the root is changed', async () => {
    const roots = mutationsOf(JSON.parse(newSigstore(now).trustRoot({ end })));
    for (const { words, value } of roots) {
      const { trust, problems, rootEnds } = await readTrust({ root: write('root.json', JSON.stringify(value)) });
      expect({ words, isUsable: trust.root !== null }).toEqual({ words, isUsable: problems.length === 0 });
      expect(() => rootEnds.map((each) => each.end?.toISOString())).not.toThrow();
    }
  });
});

interface RootJson {
  certificateAuthorities: [Validity & { certChain?: object }];
  timestampAuthorities?: object[];
  tlogs: [{ publicKey?: Validity }];
  ctlogs: [{ publicKey?: Validity }];
}

interface Validity {
  validFor: { start?: string; end?: string | null };
}

/** The text of a trust root with a change. */
function changedRoot(change: (root: RootJson) => unknown): string {
  const root = JSON.parse(newSigstore(now).trustRoot()) as RootJson;
  change(root);
  return JSON.stringify(root);
}

function ecKey(namedCurve: string): string {
  return signingKeyOf(generateKeyPairSync('ec', { namedCurve }).privateKey).publicPem;
}

function rsaKey(modulusLength: number): string {
  return signingKeyOf(generateKeyPairSync('rsa', { modulusLength }).privateKey).publicPem;
}

function otherKey(): string {
  return generateKeyPairSync('x25519').publicKey.export({ type: 'spki', format: 'pem' });
}
