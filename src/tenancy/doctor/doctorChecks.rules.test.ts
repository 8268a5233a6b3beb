import { checkLines } from '../../../fixtures/spec/checkLines.ts';
import type { FileFacts } from '../../platform/host/hostFacts.ts';
import {
  type CertificateFacts,
  checkAttempt,
  checkCertificate,
  checkNamedFiles,
  checkPublishedKeys,
  checkSetup,
} from './doctor.rules.ts';

const user = { name: 'deployd-tenancy', uid: 900, gids: [900] };
const file = (more: Partial<FileFacts> = {}, mode = 0o640): FileFacts => {
  const found = { mode, uid: 0, gid: 900, mtime: new Date(0) };
  return { path: '/etc/key', found, readable: true, writable: false, ...more };
};

it.each<[string, FileFacts[], string[]]>([
  ['are as they must be', [file(), file({ path: '/etc/s3' }, 0o600)], ['files: passed', '/etc/key, /etc/s3']],
  [
    'do not exist',
    [file({ found: null, readable: null })],
    [
      ...['files: failed', '/etc/key'],
      ...['/etc/key does not exist', 'sudo install -m 0640 -g deployd-tenancy THE-FILE /etc/key'],
    ],
  ],
  [
    'are for others and not for the service',
    [file({ readable: false }, 0o644)],
    [
      ...['files: failed', '/etc/key'],
      'deployd-tenancy cannot read /etc/key',
      'sudo chgrp deployd-tenancy /etc/key; sudo chmod 640 /etc/key',
      '/etc/key has mode 0644: more users have access than should',
      'sudo chmod 640 /etc/key',
    ],
  ],
  [
    'cannot be seen',
    [file(), file({ path: '/etc/s3', found: 'hidden' })],
    ['files: unknown', '/etc/s3 cannot be seen by this user: use sudo'],
  ],
])('files %s', (_name, files, lines) => {
  expect(checkLines(checkNamedFiles(files, user))).toEqual(lines);
});

it('a try is told by its reason and its cure', () => {
  const told = { target: '/store', fix: 'cure' };
  expect(checkLines(checkAttempt('store', { known: 1 }, told))).toEqual(['store: passed', '/store']);
  expect(checkLines(checkAttempt('store', { unknown: 'gone' }, told))).toEqual([
    'store: failed',
    '/store',
    'gone',
    'cure',
  ]);
});

const now = new Date('2026-11-25T12:00:00Z');
const certificate = (more: Partial<CertificateFacts> = {}) => {
  const validTo = new Date('2026-12-25T12:00:00Z');
  return { known: { file: '/c.pem', validTo, host: 'tenancy.example', fitsHost: true, ...more } };
};
const renew = 'put a certificate for tenancy.example with its key in the place of /c.pem';

it.each([
  ['is valid', certificate(), ['passed', '/c.pem, valid until 2026-12-25T12:00:00.000Z']],
  ['is the proxy’s', { known: null }, ['not applicable', 'TLS is done by a proxy']],
  [
    'cannot be used',
    { unknown: 'bad end line' },
    ['failed', 'cannot be used', 'bad end line', 'sudo openssl x509 -noout -in CERTIFICATE'],
  ],
  [
    'is for another host and expires soon',
    certificate({ fitsHost: false, validTo: new Date('2026-12-09T11:59:59Z') }),
    [
      ...['failed', '/c.pem, valid until 2026-12-09T11:59:59.000Z'],
      ...['it is not for tenancy.example, the host of public_url', renew, 'it expires in 13 days', renew],
    ],
  ],
  ['needs no renewal yet', certificate({ validTo: new Date('2026-12-09T12:00:00Z') }), ['passed', expect.anything()]],
  [
    'expires today',
    certificate({ validTo: new Date('2026-11-25T12:00:01Z') }),
    ['failed', '/c.pem, valid until 2026-11-25T12:00:01.000Z', 'it expires in 0 days', renew],
  ],
  [
    'has expired',
    certificate({ validTo: new Date('2026-11-25T11:59:59Z') }),
    ['failed', expect.anything(), 'it has expired at 2026-11-25T11:59:59.000Z', renew],
  ],
] as const)('a certificate that %s', (_name, facts, [status, ...lines]) => {
  expect(checkLines(checkCertificate(facts, now))).toEqual([`certificate: ${status}`, ...lines]);
});

const url = 'https://tenancy.example';
it.each([
  ['ours, and more', { known: ['a', 'b'] }, { known: ['b'] }, ['passed', url]],
  [
    'unknown',
    { unknown: 'ECONNREFUSED' },
    { known: ['b'] },
    ['failed', url, 'ECONNREFUSED', `systemctl status deployd-tenancy; curl -v --cacert /ca.pem ${url}`],
  ],
  [
    'told, but ours are not known',
    { known: ['a'] },
    { unknown: 'x' },
    ['unknown', 'the keys of the store are not known'],
  ],
  [
    'those of another service',
    { known: ['a'] },
    { known: ['b', 'c'] },
    [
      ...['failed', url],
      `${url} does not publish the signing key b, c: another service answers there, or an old one`,
      'systemctl status deployd-tenancy',
    ],
  ],
] as const)('the published keys are %s', (_name, published, own, [status, ...lines]) => {
  expect(checkLines(checkPublishedKeys(published, own, { url, ca: '/ca.pem' }))).toEqual([
    `public_url: ${status}`,
    ...lines,
  ]);
});

it.each([
  [null, ['not applicable', 'needs an administrator’s token (--token-file)']],
  [{ exit: 0, lines: ['as it must be'] }, ['passed', `of ${url}`]],
  [
    { exit: 1, lines: ['+ a', '+ b'] },
    ['failed', `of ${url}`, '+ a; + b', 'sudo deployd-tenancy secretstore apply --token-file FILE'],
  ],
] as const)('the set-up by the plan %j', (plan, [status, ...lines]) => {
  expect(checkLines(checkSetup(plan, url))).toEqual([`set-up: ${status}`, ...lines]);
});
