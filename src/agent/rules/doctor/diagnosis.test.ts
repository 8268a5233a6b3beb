import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { diagnosisOf, type AgentUser, type Check, type FileFacts } from './diagnosis.ts';
import { checkEngine, checkDiskSpace } from './engineChecks.ts';
import { checkConfig } from './fileChecks.ts';
import { checkIdentity, checkProxyPorts, parseListeningPorts, type IdentityFacts } from './meshChecks.ts';
import { checkClock, checkPeer } from './networkChecks.ts';
import { formatDiagnosis } from './formatDiagnosis.ts';
import { checkLock } from './lockCheck.ts';
import { checkTimer, parseTimerFacts } from './timerChecks.ts';
import { emptyState } from '../state/state.ts';
import { unknownTokenStatus } from '../token/tokenStatus.ts';
import { jwtExpiryOf, checkToken } from './tokenCheck.ts';

const agent: AgentUser = { name: 'deployd', uid: 900, gids: [900, 950] };
const now = new Date('2026-11-21T12:00:00Z');

function file(mode: number, more: Partial<FileFacts> = {}): FileFacts {
  return { path: '/a/file', found: { mode, uid: 1, gid: 950, mtime: now }, readable: true, writable: true, ...more };
}

/** The verdict, followed by every fix. */
const verdictAndFixes = ({ verdict, findings }: Check) => [verdict, ...findings.map(({ fix }) => fix)];

describe('the mesh identity', () => {
  const well: IdentityFacts = { file: file(0o640), group: 'mesh', isIdentity: true, watched: { known: true } };

  it.each<[string, Partial<IdentityFacts>, string[]]>([
    ['is well', {}, ['well']],
    ['is well without systemd', { watched: { unknown: 'no systemd' } }, ['well']],
    [
      'is missing',
      { file: file(0, { found: null }) },
      ['wrong', 'sudo ziti edge enroll --jwt ENROLMENT.jwt --out /a/file'],
    ],
    ['is not accessible', { file: file(0, { found: 'hidden' }) }, ['unseen']],
    [
      'is not readable',
      { file: file(0o640, { readable: false }) },
      ['wrong', 'sudo systemctl start deployd-identity-acl.service'],
    ],
    ['is writable for the group', { file: file(0o660) }, ['wrong', 'sudo chmod g-w,o= /a/file']],
    ['is no identity', { isIdentity: false }, ['wrong', 'sudo ziti edge enroll --jwt ENROLMENT.jwt --out /a/file']],
    [
      'is readable by its ACL only, which a rewrite drops',
      { file: file(0o640, { found: { mode: 0o640, uid: 1, gid: 1, mtime: now } }) },
      ['wrong', 'sudo usermod -aG mesh deployd'],
    ],
    [
      'is not watched',
      { watched: { known: false } },
      ['wrong', 'sudo systemctl enable --now deployd-identity-acl.path'],
    ],
  ])('%s', (_name, more, lines) => {
    expect(verdictAndFixes(checkIdentity({ ...well, ...more }, agent))).toEqual(lines);
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

  it('must both have a listener', () => {
    expect(checkProxyPorts({ known: [22, 18200, 18443] }, [18443, 18200]).verdict).toBe('well');
    expect(checkProxyPorts({ known: [18200] }, [18443, 18200]).findings).toEqual([
      { what: 'nothing listens on 127.0.0.1:18443', fix: 'sudo systemctl enable --now deployd-proxy.service' },
    ]);
  });
});

it('a token without a policy for its lookup is not reported as dead', () => {
  const lookup = { known: { denied: true } } as const;
  const facts = { token: { known: { present: true, lookup } }, grant: file(0, { found: null }), grantExpiry: null };
  const check = checkToken({ ...facts, env: 'eu-1', intervalS: 60 }, { now, agent, state: { known: null } });
  expect([check.told, ...verdictAndFixes(check)]).toEqual([
    'present, may not look itself up',
    'wrong',
    'bao read auth/jwt-tenancy/role/ROLE',
  ]);
});

it('a grant that ticks do not use is reported with the reason', () => {
  const token = { known: { present: true, lookup: { unknown: 'away' } } };
  const facts = { token, grant: file(0o600), grantExpiry: null, env: 'eu-1', intervalS: 60 } as const;
  const state = {
    ...emptyState('eu-1'),
    token: { ...unknownTokenStatus(), grant_refused: 'BOOTSTRAP_REFUSED: expired' },
  };
  expect(checkToken(facts, { now, agent, state: { known: state } }).findings).toEqual([
    { what: 'the grant is not taken: BOOTSTRAP_REFUSED: expired', fix: expect.stringMatching(/^sudo rm /) as string },
  ]);
});

describe('the timer', () => {
  const shown = (unit: string, active: string, sub: string, load = 'loaded') =>
    `LoadState=${load}\nActiveState=${active}\nSubState=${sub}\nUnitFileState=${unit}\n`;
  const listed =
    '[{"next":1795262400000000,"left":0,"last":0,"passed":0,"unit":"deployd.timer","activates":"deployd.service"}]';

  it('shows its next run', () => {
    const check = checkTimer(parseTimerFacts(shown('enabled', 'active', 'waiting'), listed));
    expect([check.verdict, check.told]).toEqual(['well', 'next run at 2026-11-21T12:00:00.000Z']);
  });

  it.each<[string, string, string[]]>([
    ['runs a tick now', shown('enabled', 'active', 'running'), ['well']],
    ['is not enabled', shown('disabled', 'active', 'waiting'), ['wrong', 'sudo systemctl enable --now deployd.timer']],
    ['is stopped', shown('enabled', 'inactive', 'dead'), ['wrong', 'sudo systemctl start deployd.timer']],
    ['has no next run', shown('enabled', 'active', 'elapsed'), ['wrong', 'sudo systemctl restart deployd.timer']],
    ['is not installed', shown('', 'inactive', 'dead', 'not-found'), ['not applicable']],
    ['is unknown without systemd', '', ['not applicable']],
  ])('%s', (_name, text, lines) => {
    expect(verdictAndFixes(checkTimer(parseTimerFacts(text, 'no JSON')))).toEqual(lines);
  });
});

describe('the response of a service', () => {
  const endpoint = { peer: 'tenancy', url: 'https://t', ca: null, laptop: false } as const;
  const offline = { code: null, line: 'temporary network failure: x' };

  it('may be missing on a laptop, but not for an untrusted certificate', () => {
    expect(verdictAndFixes(checkPeer(offline, endpoint))[0]).toBe('wrong');
    expect(verdictAndFixes(checkPeer(offline, { ...endpoint, laptop: true }))).toEqual(['not applicable']);
    expect(checkPeer({ code: 'TLS_UNTRUSTED', line: 'x' }, { ...endpoint, laptop: true }).verdict).toBe('wrong');
  });

  it.each([
    [200, 'well'],
    [429, 'well'],
    [472, 'wrong'],
    [473, 'well'],
    [503, 'wrong'],
  ])('with status %i makes it %s', (status, verdict) => {
    expect(checkPeer({ status, skewS: null }, endpoint).verdict).toBe(verdict);
  });

  it.each([
    [[61, 0], 'wrong'],
    [[-61], 'wrong'],
    [[60, -60], 'well'],
    [[], 'unseen'],
  ])('with the skews %j makes the clock %s', (skews, verdict) => {
    expect(checkClock(skews.map((skewS) => ({ status: 200, skewS }))).verdict).toBe(verdict);
  });
});

it.each<[string, Check, string[]]>([
  [
    'an engine that hangs',
    checkEngine({ socket: file(0o660), group: 'docker', error: 'x' }, agent),
    ['wrong', 'sudo systemctl restart docker'],
  ],
  [
    'a socket that the agent may not use',
    checkEngine({ socket: file(0o660, { writable: false }), group: 'docker', error: null }, agent),
    ['wrong', 'sudo usermod -aG docker deployd'],
  ],
  [
    'a filesystem too full for the state',
    checkDiskSpace({ known: [{ paths: ['/var/lib/deployd'], freeBytes: 1, neededBytes: 2, purpose: 'state' }] }),
    ['wrong', 'sudo du -xsh /var/lib/deployd/*'],
  ],
  [
    'a configuration that the agent cannot read',
    checkConfig({ file: file(0o600, { readable: false }), problems: [] }, agent),
    ['wrong', 'sudo chgrp deployd /a/file && sudo chmod 640 /a/file'],
  ],
  [
    'a tick that runs for longer than it may',
    checkLock({ known: { present: true, held: true, pid: 7, since: '2026-11-21T10:00:00Z', maxTickS: 7199 } }, now),
    ['wrong', 'sudo kill 7'],
  ],
  [
    'no fault in a tick that is at work',
    checkLock({ known: { present: true, held: true, pid: 7, since: '2026-11-21T10:00:00Z', maxTickS: 7200 } }, now),
    ['well'],
  ],
])('finds %s', (_name, check, lines) => {
  expect(verdictAndFixes(check)).toEqual(lines);
});

it('reads the expiry of a grant, null when it has none', () => {
  const jwt = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
  expect(jwtExpiryOf(jwt({ exp: 1795262400, sub: 'ü?>' }))).toEqual(now);
  expect([jwt({}), jwt({ exp: 'soon' }), 'x', ''].map(jwtExpiryOf)).toEqual([null, null, null, null]);
});

it('ends with a summary: all is well, the faults, and the checks that were not possible', () => {
  const check = (name: string, verdict: Check['verdict'], findings: Check['findings'] = []) => ({
    name,
    verdict,
    told: 'told',
    findings,
  });
  expect(formatDiagnosis(diagnosisOf([check('a', 'well'), check('b', 'not applicable')]))).toBe(
    'a  well      told\nb  n/a       told\n\nall is well',
  );
  const { well, checks } = diagnosisOf([check('a', 'wrong', [{ what: 'x\x1b', fix: 'y' }]), check('b', 'unseen')]);
  expect(formatDiagnosis({ well, checks })).toBe(
    'a  WRONG     told\n   x \n     fix: y\nb  not seen  told\n\n1 fault; not seen: b',
  );
  expect([well, diagnosisOf([check('b', 'unseen')]).well]).toEqual([false, false]);
});
