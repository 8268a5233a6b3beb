import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { checkLines } from '../../../fixtures/suites/spec/checkLines.ts';
import type { FileFacts, ProgramUser } from '../../core/doctor.rules.ts';
import {
  checkIdentity,
  checkPeer,
  checkProxyPorts,
  type IdentityFacts,
  inapplicableForTransport,
  parseListeningPorts,
} from './network.rules.ts';

describe('a service whose certificate is not trusted', () => {
  const endpoint = { peer: 'tenancy', url: 'https://t.example', ca: '/etc/ca.pem', laptop: false } as const;
  const facts = (certificate: { cure: string; authority: string | null }) => ({
    ...{ code: 'TLS_UNTRUSTED', line: `TLS_UNTRUSTED: the problem: ${certificate.cure}`, certificate },
  });

  it.each([
    ['is to be renewed', { cure: 'renew it', authority: null }, 'renew it'],
    [
      'has an unknown authority',
      { cure: 'add it', authority: 'CA' },
      'sudo install -m 0644 THE-RIGHT-CA.pem /etc/ca.pem',
    ],
  ])('has the fix of the tick, if it %s', (_title, certificate, fix) => {
    const lines = ['tenancy service: failed', 'https://t.example', 'TLS_UNTRUSTED: the problem', fix];
    expect(checkLines(checkPeer(facts(certificate), endpoint))).toEqual(lines);
  });
});

const agent: ProgramUser = { name: 'deployd', uid: 900, gids: [900, 950] };

function file(mode: number, more: Partial<FileFacts> = {}, owner: { uid?: number; gid?: number } = {}): FileFacts {
  const found = { mode, uid: 1, gid: 950, mtime: new Date(0), ...owner };
  return { path: '/a/file', found, readable: true, writable: true, ...more };
}

describe('the mesh identity', () => {
  const valid: IdentityFacts = { file: file(0o640), group: 'mesh', isIdentity: true, watched: { known: true } };
  const passed = ['mesh identity: passed', '/a/file'];
  const isWrong = ['mesh identity: failed', '/a/file'];

  it.each<[string, Partial<IdentityFacts>, string[]]>([
    ['passes', {}, passed],
    ['passes without systemd', { watched: { unknown: 'no systemd' } }, passed],
    ["passes as the agent's own file", { file: file(0o600, {}, { uid: 900, gid: 1 }) }, passed],
    ['passes, as far as this user can see', { file: file(0o640, { readable: null }), isIdentity: null }, passed],
    [
      'is missing',
      { file: file(0, { found: null }) },
      [...isWrong, '/a/file does not exist', 'sudo ziti edge enroll --jwt ENROLMENT.jwt --out /a/file'],
    ],
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
    [
      'is not an identity',
      { isIdentity: false },
      [...isWrong, '/a/file is not an identity', 'sudo ziti edge enroll --jwt ENROLMENT.jwt --out /a/file'],
    ],
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
    expect(checkLines(checkIdentity({ ...valid, ...more }, agent))).toEqual(lines);
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

  it('must both have a listener', () => {
    const detail = 'ports 18443 and 18200';
    const ports = [18443, 18200];
    expect(checkLines(checkProxyPorts({ known: [22, 18200, 18443] }, ports))).toEqual(['mesh proxy: passed', detail]);
    expect(checkLines(checkProxyPorts({ known: [18200] }, ports))).toEqual([
      ...['mesh proxy: failed', detail],
      ...['nothing listens on 127.0.0.1:18443', 'sudo systemctl enable --now deployd-proxy.service'],
    ]);
    expect(checkLines(checkProxyPorts({ unknown: 'no table' }, ports))).toEqual(['mesh proxy: unknown', 'no table']);
  });
});
