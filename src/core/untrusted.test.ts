import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { createClock } from '../../fixtures/world/servers/clock.ts';
import { type Ca, type Certificate, createCa } from '../../fixtures/world/servers/crypto/ca.ts';
import { startHttpsServer, type TestServer } from '../../fixtures/world/servers/http/httpsServer.ts';
import { createTlsContext, parseAuthorities, untrustedOf } from './certificateAuthorities.ts';
import { type Agents, closeAgents, createAgents } from './connector.ts';
import { send } from './httpClient.ts';
import { open } from './nodeClient.ts';
import type { GateQuestion } from '../api/webhooks.rules.ts';
import { openIdentityProvider } from '../tenancy/peers/identityProvider.ts';
import { openMeshDirectory } from '../tenancy/peers/meshDirectory.ts';
import { createPostWebhook } from '../tenancy/peers/postWebhook.ts';
import { createSecretstoreClient } from '../tenancy/peers/secretstoreClient.ts';
import type { WebhookRow } from '../tenancy/store/database.ts';
import { sendQuestion } from '../tenancy/webhooks/deliver.ts';
import {
  certificateCure,
  explainUntrusted,
  judgeClock,
  type ShownCertificate,
  systemAuthorities,
} from './untrusted.rules.ts';

let ca: Ca;
let server: TestServer;
let agents: Agents;
beforeAll(async () => {
  ca = createCa();
  const certificate = ca.issue(['127.0.0.1']);
  server = await startHttpsServer({
    ...{ certificate, clock: createClock(), routeOf: () => 'any', answer: () => ({ status: 200 }) },
  });
  agents = createAgents({ context: createTlsContext(parseAuthorities(ca.pem)!) }, { connectTimeoutMs: 5000 });
});
afterAll(async () => {
  closeAgents(agents);
  await server.stop();
});

/** A certificate, followed by its issuers. */
const withIssuers = ({ key, cert }: Certificate, ...issuers: Ca[]): Certificate => ({
  ...{ key, cert: [cert, ...issuers.map(({ pem }) => pem)].join('') },
});

const iso = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`;
const other = createCa('Another Authority');
const below = createCa('Far Root').subordinate('Far Intermediate');

const certificates: [string, () => Certificate, string, string][] = [
  [
    'that has expired',
    () => ca.issue(['127.0.0.1'], { expired: true }),
    `the certificate of "127.0.0.1" expired at ${iso}, and the clock of this host shows ${iso} \\(CERT_HAS_EXPIRED\\)`,
    'renew the certificate on the server; if the clock is wrong, set it',
  ],
  [
    'whose authority has expired',
    () => {
      const old = ca.subordinate('Old Intermediate', { expired: true });
      return withIssuers(old.issue(['127.0.0.1']), old);
    },
    `the certificate of "Old Intermediate" expired at ${iso}, and the clock of this host shows ${iso} \\(CERT_HAS_EXPIRED\\)`,
    'let the server send a chain without it, or renew that authority in CA_KEY; if the clock is wrong, set it',
  ],
  [
    'that is not valid yet',
    () => ca.issue(['127.0.0.1'], { early: true }),
    `the certificate of "127.0.0.1" is valid from ${iso}, and the clock of this host shows ${iso} \\(CERT_NOT_YET_VALID\\)`,
    'if the clock is wrong, set it: sudo timedatectl set-ntp true; else the server needs a certificate that is valid now',
  ],
  [
    'for other names',
    () => ca.issue(['a.example', 'b.example']),
    'the certificate is for a.example, b.example, not for 127.0.0.1 \\(ERR_TLS_CERT_ALTNAME_INVALID\\)',
    'use one of these names in the URL, or give the server a certificate for the name in the URL',
  ],
  [
    'without its issuer',
    () => other.issue(['127.0.0.1']),
    'the server sends only the certificate of "127.0.0.1", and its issuer "Another Authority" is not trusted here \\(UNABLE_TO_VERIFY_LEAF_SIGNATURE\\)',
    'let the server send its whole chain, or, for your own authority, add "Another Authority" to CA_KEY',
  ],
  [
    'of an unknown authority',
    () => withIssuers(below.issue(['127.0.0.1']), below),
    'the certificate of "127.0.0.1" is signed by "Far Root", which is not trusted here \\(UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?\\)',
    'if it is the right server, add "Far Root" to CA_KEY',
  ],
  [
    'of an unknown authority that is sent too',
    () => withIssuers(other.issue(['127.0.0.1']), other),
    'the certificate of "127.0.0.1" is signed by "Another Authority", which is not trusted here \\(SELF_SIGNED_CERT_IN_CHAIN\\)',
    'if it is the right server, add "Another Authority" to CA_KEY',
  ],
];

const clients: [string, (request: Parameters<typeof open>[0] & { agents: Agents }) => Promise<unknown>][] = [
  ['open', open],
  ['send', send],
];

describe.each(clients)('the error of %s', (_name, call) => {
  it.each(certificates)('explains a certificate %s', async (_title, certificate, problem, cure) => {
    server.setCertificate(certificate());
    const request = { url: new URL(server.url), method: 'GET', headers: {}, agents } as const;
    const error = await call(request).catch((failure: unknown) => failure);
    const untrusted = untrustedOf(error)!;
    expect(untrusted.problem).toMatch(new RegExp(`^${problem}$`));
    expect(certificateCure(untrusted, 'CA_KEY')).toMatch(new RegExp(`^${cure}$`));
  });
});

const messageOf = (error: unknown) => (error as Error).message;

/** A program that prints the error of a call to a bucket; its arguments are this directory, the URL and an authority. */
const checkBucket = `
  const [dir, url, ...authorities] = process.argv.slice(1);
  const { createS3Storage } = await import(dir + '/../tenancy/peers/bundleBucket.ts');
  const credentials = { accessKeyId: 'a', secretAccessKey: 'b' };
  const bucket = { url, bucket: 'b', region: 'r', credentials, authorities, givesLinks: false };
  await createS3Storage(bucket).check().catch(({ message }) => process.stdout.write(message, () => process.exit()));
`;

/** Calls of the tenancy service to its peers, with the beginning of their error and where their authorities are configured. */
const peers: [string, { prefix: string; authorities: string; call: (url: string) => Promise<unknown> }][] = [
  [
    'the secretstore',
    {
      ...{ prefix: 'secretstore: login: ', authorities: 'secretstore_ca' },
      call: (url) =>
        createSecretstoreClient({ url, authorities: trusted(), namespace: null }).call({
          ...{ what: 'login', method: 'GET', path: 'login' },
        }),
    },
  ],
  [
    'the bucket',
    {
      ...{ prefix: 'bundle storage: cannot check: ', authorities: systemAuthorities },
      // in its own process: inside Jest the SDK does not recognize errors of Node
      call: async (url) => {
        const args = [import.meta.dirname, url, ca.pem];
        const { stdout } = await promisify(execFile)(process.execPath, [
          '--input-type=module',
          '-e',
          checkBucket,
          ...args,
        ]);
        throw new Error(stdout);
      },
    },
  ],
  [
    'the identity provider',
    {
      ...{ prefix: 'identity provider: ', authorities: 'oidc.issuer_ca' },
      call: (url) =>
        openIdentityProvider({
          ...{ issuer: url, clientId: 'a', clientSecret: 'b', scopes: [], groupsClaim: 'groups' },
          ...{ authorities: trusted(), callbackUrl: url, signedOutUrl: url, clock: Date.now },
        }).check(),
    },
  ],
  [
    'the mesh controller',
    {
      prefix: 'mesh controller: controller 127.0.0.1:\\d+: ',
      authorities: 'id.ca of the identity, or mesh.controller_ca',
      call: (url) =>
        openMeshDirectory({ controllerUrl: url, authorities: trusted(), username: 'u', password: 'p' }).check(),
    },
  ],
  [
    'a webhook',
    {
      ...{ prefix: 'the endpoint cannot be reached: ', authorities: 'webhooks.ca' },
      call: async (url) => {
        const postWebhook = createPostWebhook({ authorities: trusted(), timeoutMs: 5000, allowsPrivate: true });
        const sealer = { seal: () => '', unseal: (_name: string, text: string) => text };
        const deps = { version: '1', postWebhook, sealer, clock: Date.now };
        const row = { id: 'w', sealed_url: url, sealed_secret: 'whsec_AAAA', sealed_previous_secret: null };
        const question = { id: 'q', question: {} as GateQuestion, signal: AbortSignal.timeout(5000) };
        const { error } = await sendQuestion(deps, row as unknown as WebhookRow, question);
        throw new Error(error ?? 'no error');
      },
    },
  ],
];

const trusted = () => parseAuthorities(ca.pem)!;
const literal = (text: string) => text.replace(/[().]/g, String.raw`\$&`);

describe.each(peers)('a call of the tenancy service to %s', (_peer, { prefix, authorities, call }) => {
  it.each(certificates)('explains a certificate %s', async (_title, certificate, problem, cure) => {
    server.setCertificate(certificate());
    const message = await call(server.url).catch(messageOf);
    expect(message).toMatch(new RegExp(`^${prefix}${problem}: ${cure.replace('CA_KEY', literal(authorities))}$`));
  });
});

it('is null for any other error', () => {
  expect(untrustedOf(Object.assign(new Error('x'), { code: 'ECONNREFUSED' }))).toBeNull();
  expect(untrustedOf(null)).toBeNull();
});

const now = new Date('2026-01-02T03:04:05Z');
const shown = (more: Partial<ShownCertificate>): ShownCertificate => ({
  ...{ subject: 'web', issuer: 'CA', names: [], validFrom: new Date(0), validTo: new Date('2030-01-01') },
  ...more,
});
const explain = (code: string, certificate: Partial<ShownCertificate>, file?: string) =>
  explainUntrusted(
    code,
    { host: 'web.example', certificates: [shown(certificate)] },
    {
      now,
      pastTimes: file === undefined ? [] : [{ what: 'state.json', at: new Date(file) }],
    },
  );

test('a clock that is earlier than files of the host explains a certificate that is not valid yet', () => {
  const untrusted = explain('CERT_NOT_YET_VALID', { validFrom: new Date('2026-03-01') }, '2026-02-01T00:00:00Z');
  expect(untrusted.problem).toBe(
    'the clock of this host is wrong: it shows 2026-01-02T03:04:05Z, but state.json is of 2026-02-01T00:00:00Z (CERT_NOT_YET_VALID)',
  );
  expect(certificateCure(untrusted, 'tenancy_ca')).toBe('set the clock: sudo timedatectl set-ntp true');
});

test.each([
  ['is not of the newest file', '2026-01-01T00:00:00Z'],
  ['differs by less than a minute', '2026-01-02T03:05:04Z'],
])('a clock that %s is not called wrong', (_title, file) => {
  expect(judgeClock(now, [{ what: 'state.json', at: new Date(file) }])).toBeNull();
});

test.each([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', {}, /^the certificate of "web" is self-signed and not trusted here/],
  ['ERR_TLS_CERT_ALTNAME_INVALID', {}, /^the certificate is for no name, not for web\.example/],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    { names: 'abcdefg'.split('') },
    /^the certificate is for a, b, c, d, e, 2 more, not/,
  ],
  ['ERR_TLS_CERT_ALTNAME_INVALID', { names: ['a\nrefused: X'] }, /^the certificate is for a\ufffdrefused: X, not/],
  ['CERT_HAS_EXPIRED', { validTo: new Date(NaN) }, /expired at an unreadable time/],
  ['INVALID_PURPOSE', {}, /^certificate is not trusted \(INVALID_PURPOSE\)$/],
])('%s with %j has one line', (code, certificate, problem) => {
  expect(explain(code, certificate).problem).toMatch(problem);
});

test('a server whose certificates are not known has the words of the code alone', () => {
  const untrusted = explainUntrusted('CERT_HAS_EXPIRED', null, { now, pastTimes: [] });
  expect(untrusted).toEqual({
    kind: 'expired',
    problem: 'certificate is not trusted (CERT_HAS_EXPIRED)',
    authority: null,
  });
});
