import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { checkLines } from '../../../fixtures/suites/spec/checkLines.ts';
import type { FileFacts, ProgramUser } from '../../core/doctor.rules.ts';
import { expiryWarning } from '../../core/untrusted.rules.ts';
import {
  checkIdentity,
  checkPeer,
  checkProxyPorts,
  type IdentityFacts,
  inapplicableForTransport,
  parseListeningPorts,
  type ProxyPort,
} from './network.rules.ts';

describe('a service whose certificate is not trusted', () => {
  const endpoint = {
    peer: 'tenancy',
    url: 'https://t.example',
    ca: '/etc/ca.pem',
    laptop: false,
    transport: 'system',
  } as const;
  const facts = (certificate: { cure: string; authority: string | null }) => ({
    ...{ code: 'TLS_UNTRUSTED', line: `TLS_UNTRUSTED: the problem: ${certificate.cure}`, certificate },
  });

  it.each([
    ['is to be renewed', { cure: 'renew it', authority: null }, 'renew it'],
    [
      'has an unknown authority',
      { cure: 'add it', authority: 'CA' },
      'sudo tee --append /etc/ca.pem <THE-RIGHT-CA.pem',
    ],
  ])('has the fix of the tick, if it %s', (_title, certificate, fix) => {
    const lines = ['tenancy service: failed', 'https://t.example', 'TLS_UNTRUSTED: the problem', fix];
    expect(checkLines(checkPeer(facts(certificate), endpoint))).toEqual(lines);
  });
});

describe('a service that does not answer', () => {
  it.each([
    ['system', 'curl -v --cacert /etc/ca.pem https://t.example/', 'curl -i https://t.example/v1/sys/health'],
    [
      'proxy',
      'curl -v --cacert /etc/ca.pem --connect-to ::127.0.0.1:18443 https://t.example/',
      'curl -i --connect-to ::127.0.0.1:18443 https://t.example/v1/sys/health',
    ],
    ['sdk', 'sudo deployd run --once', 'sudo deployd run --once'],
  ] as const)('is tried by the way of transport %s', (transport, unreachable, sealed) => {
    const peer = { peer: 'tenancy', url: 'https://t.example', ca: '/etc/ca.pem', laptop: false, transport } as const;
    expect(checkLines(checkPeer({ code: null, line: 'refused' }, peer)).at(-1)).toBe(unreachable);
    expect(checkLines(checkPeer({ status: 503, skewS: null }, peer)).at(-1)).toBe(sealed);
  });
});

const agent: ProgramUser = { name: 'deployd', uid: 900, gids: [900, 950] };

function file(mode: number, more: Partial<FileFacts> = {}, owner: { uid?: number; gid?: number } = {}): FileFacts {
  const found = { mode, uid: 1, gid: 950, mtime: new Date(0), ...owner };
  return { path: '/a/file', found, readable: true, writable: true, ...more };
}

describe('the mesh identity', () => {
  const now = new Date('2026-11-30T00:00:00.000Z');
  const life = { from: now, until: new Date('2027-11-30') };
  const valid: IdentityFacts = { file: file(0o640), group: 'mesh', isIdentity: true, watched: { known: true }, life };
  const passed = ['mesh identity: passed', '/a/file'];
  const isWrong = ['mesh identity: failed', '/a/file'];
  const enrolment =
    'sudo ziti edge enroll --jwt ENROLMENT.jwt --out /a/file && sudo chown --reference=/a /a/file && sudo chmod 640 /a/file';

  it.each<[string, Partial<IdentityFacts>, string[]]>([
    ['passes', {}, passed],
    ['passes without systemd', { watched: { unknown: 'no systemd' } }, passed],
    ["passes as the agent's own file", { file: file(0o600, {}, { uid: 900, gid: 1 }) }, passed],
    ['passes, as far as this user can see', { file: file(0o640, { readable: null }), isIdentity: null }, passed],
    ['is missing', { file: file(0, { found: null }) }, [...isWrong, '/a/file does not exist', enrolment]],
    [
      'is not accessible',
      { file: file(0, { found: 'hidden' }) },
      ['mesh identity: unknown', '/a/file cannot be seen by this user: use sudo'],
    ],
    [
      'is not readable',
      { file: file(0o640, { readable: false }) },
      [...isWrong, 'deployd cannot read /a/file', 'sudo systemctl start deployd-identity-acl.service'],
    ],
    [
      'is writable for the group',
      { file: file(0o660) },
      [...isWrong, '/a/file has mode 0660', 'sudo chmod g-w,o= /a/file'],
    ],
    ['is open to others', { file: file(0o644) }, [...isWrong, '/a/file has mode 0644', 'sudo chmod g-w,o= /a/file']],
    ['is not an identity', { isIdentity: false }, [...isWrong, '/a/file is not an identity', enrolment]],
    [
      'is readable by its ACL only, which a rewrite drops',
      { file: file(0o640, {}, { gid: 1 }) },
      [
        ...isWrong,
        'deployd is not in group mesh: when the tunneller rewrites /a/file, it cannot read it any more',
        'sudo usermod -aG mesh deployd',
      ],
    ],
    [
      'is not watched',
      { watched: { known: false } },
      [
        ...isWrong,
        'deployd-identity-acl.path is not active: a rewrite with mode 0600 would lock the agent out',
        'sudo systemctl enable --now deployd-identity-acl.path',
      ],
    ],
  ])('%s', (_name, more, lines) => {
    expect(checkLines(checkIdentity({ ...valid, ...more }, { agent, now, transport: 'sdk' }))).toEqual(lines);
  });

  const extend = 'sudo /usr/share/deployd/identity-acl.sh --extend';
  it.each([
    ['40 days before its end', 40, []],
    ['29 days before its end', 29.5, ['ends on 2026-12-29T12:00:00.000Z, in 29 days, and was not extended']],
    ['on its last day', 0.5, ['ends on 2026-11-30T12:00:00.000Z, in 0 days, and was not extended']],
    [
      'after its end',
      -1,
      ['ended on 2026-11-29T00:00:00.000Z: the policy of the mesh decides whether it is still accepted'],
    ],
  ])('warns of a certificate %s, with sdk and with proxy', (_name, days, warning) => {
    const ending = { from: new Date('2026-01-01'), until: new Date(now.getTime() + days * 86_400_000) };
    const lines = warning.flatMap((line) => [`the certificate of /a/file ${line}`, extend]);
    for (const transport of ['sdk', 'proxy'] as const)
      expect(checkLines(checkIdentity({ ...valid, life: ending }, { agent, now, transport })).slice(2)).toEqual(lines);
  });

  it('warns of a short life in its last sixth, and reports an end that it cannot read', () => {
    const short = { from: new Date(now.getTime() - 5 * 86_400_000), until: new Date(now.getTime() + 2 * 86_400_000) };
    expect(expiryWarning(short, now)).toBeNull();
    expect(expiryWarning(short, new Date(now.getTime() + 86_400_000))).toMatch(/, in 1 day, and was not extended$/);
    expect(checkLines(checkIdentity({ ...valid, life: null }, { agent, now, transport: 'proxy' }))).toEqual([
      'mesh identity: unknown',
      'the end of the certificate of /a/file cannot be read: use sudo',
    ]);
  });

  it('is not needed by another transport', () => {
    expect(checkLines(inapplicableForTransport('mesh identity', 'proxy'))).toEqual([
      'mesh identity: not applicable',
      'transport is proxy',
    ]);
  });
});

describe('the proxy ports', () => {
  it('are found in the kernel tables while they have a listener', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const table = () => readFileSync('/proc/net/tcp', 'utf8');
    expect(parseListeningPorts(table())).toContain(port);
    await new Promise((resolve) => server.close(resolve));
    expect(parseListeningPorts(table())).not.toContain(port);
  });

  it('lists the port of each listening socket once', () => {
    const table = [
      '  sl  local_address rem_address   st tx_queue rx_queue',
      '   0: 0100007F:4718 00000000:0000 0A 00000000:00000000',
      '   1: 00000000000000000000000000000000:4718 00000000000000000000000000000000:0000 0A 00000000:00000000',
      '   2: 0100007F:480B 0100007F:4718 01 00000000:00000000',
      '   3: 0100007F:480B 00000000:0000 0A 00000000:00000000',
    ];
    expect(parseListeningPorts(table.join('\n'))).toEqual([18200, 18443]);
  });

  const enable = 'sudo systemctl enable --now deployd-proxy.service';
  const journal = 'sudo journalctl --unit deployd-proxy.service --lines 20 --no-pager';
  it.each<[string, ProxyPort['state'], boolean, string[]]>([
    ['answer', 'answers', true, []],
    ['have a listener, and the unit is off', 'closed', false, ['nothing listens on 127.0.0.1:18443', enable]],
    [
      'have a listener, and the unit is on',
      'closed',
      true,
      [
        'nothing listens on 127.0.0.1:18443: the mesh does not grant its service to the identity, or is not reachable',
        journal,
      ],
    ],
    [
      'answer through the mesh',
      'silent',
      true,
      ['127.0.0.1:18443 is open, but its service does not answer through the mesh', journal],
    ],
  ])('must both %s', (_title, state, isEnabled, finding) => {
    const ports = [{ port: 18443, state } as const, { port: 18200, state: 'answers' } as const];
    const outcome = finding.length > 0 ? 'failed' : 'passed';
    expect(checkLines(checkProxyPorts(ports, { isEnabled }))).toEqual([
      `mesh proxy: ${outcome}`,
      'ports 18443 and 18200',
      ...finding,
    ]);
  });
});
