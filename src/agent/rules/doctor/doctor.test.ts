import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { diagnosisOf, type Agent, type Check, type FileFacts } from './doctor.ts';
import { judgeEngine, judgeRoom } from './engine.ts';
import { judgeConfig } from './files.ts';
import { judgeIdentity, judgePorts, listeningPorts, type IdentityFacts } from './mesh.ts';
import { judgeClock, judgePeer } from './network.ts';
import { doctorText } from './text.ts';
import { judgeLock, judgeTimer, timerFactsOf } from './ticks.ts';
import { emptyState } from '../state/state.ts';
import { unknownStanding } from '../token/tokenLife.ts';
import { expiryOf, judgeToken } from './token.ts';

const agent: Agent = { name: 'deployd', uid: 900, gids: [900, 950] };
const now = new Date('2026-11-21T12:00:00Z');

function file(mode: number, more: Partial<FileFacts> = {}): FileFacts {
  return { path: '/a/file', found: { mode, uid: 1, gid: 950, mtime: now }, readable: true, writable: true, ...more };
}

/** `verdict` and, below it, every cure. */
const judged = ({ verdict, findings }: Check) => [verdict, ...findings.map(({ fix }) => fix)];

describe('the mesh identity', () => {
  const well: IdentityFacts = { file: file(0o640), group: 'mesh', isIdentity: true, watched: { is: true } };

  it.each<[string, Partial<IdentityFacts>, string[]]>([
    ['is well', {}, ['well']],
    ['is well where nobody knows of systemd', { watched: { unknown: 'no systemd' } }, ['well']],
    [
      'is missing',
      { file: file(0, { found: null }) },
      ['wrong', 'sudo ziti edge enroll --jwt ENROLMENT.jwt --out /a/file'],
    ],
    ['is not seen', { file: file(0, { found: 'hidden' }) }, ['unseen']],
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
    ['is not watched', { watched: { is: false } }, ['wrong', 'sudo systemctl enable --now deployd-identity-acl.path']],
  ])('%s', (_name, more, lines) => {
    expect(judged(judgeIdentity({ ...well, ...more }, agent))).toEqual(lines);
  });
});

describe('the proxy ports', () => {
  it('are found in the tables of the kernel while something listens', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const table = () => readFileSync('/proc/net/tcp', 'utf8');
    expect(listeningPorts(table())).toContain(port);
    await new Promise((resolve) => server.close(resolve));
    expect(listeningPorts(table())).not.toContain(port);
  });

  it('must both be there', () => {
    expect(judgePorts({ is: [22, 18200, 18443] }, [18443, 18200]).verdict).toBe('well');
    expect(judgePorts({ is: [18200] }, [18443, 18200]).findings).toEqual([
      { what: 'nothing listens on 127.0.0.1:18443', fix: 'sudo systemctl enable --now deployd-proxy.service' },
    ]);
  });
});

it('a token that no policy lets look itself up is not called dead', () => {
  const seen = { is: { denied: true } } as const;
  const facts = { token: { is: { present: true, seen } }, grant: file(0, { found: null }), grantExpires: null };
  const check = judgeToken({ ...facts, env: 'eu-1', intervalS: 60 }, { now, agent, state: { is: null } });
  expect([check.told, ...judged(check)]).toEqual([
    'present, may not look itself up',
    'wrong',
    'bao read auth/jwt-tenancy/role/ROLE',
  ]);
});

it('a grant that ticks do not take is named with its reason', () => {
  const token = { is: { present: true, seen: { unknown: 'away' } } };
  const facts = { token, grant: file(0o600), grantExpires: null, env: 'eu-1', intervalS: 60 } as const;
  const state = { ...emptyState('eu-1'), token: { ...unknownStanding(), grant_refused: 'BOOTSTRAP_REFUSED: expired' } };
  expect(judgeToken(facts, { now, agent, state: { is: state } }).findings).toEqual([
    { what: 'the grant is not taken: BOOTSTRAP_REFUSED: expired', fix: expect.stringMatching(/^sudo rm /) as string },
  ]);
});

describe('the timer', () => {
  const shown = (unit: string, active: string, sub: string, load = 'loaded') =>
    `LoadState=${load}\nActiveState=${active}\nSubState=${sub}\nUnitFileState=${unit}\n`;
  const listed =
    '[{"next":1795262400000000,"left":0,"last":0,"passed":0,"unit":"deployd.timer","activates":"deployd.service"}]';

  it('tells its next run', () => {
    const check = judgeTimer(timerFactsOf(shown('enabled', 'active', 'waiting'), listed));
    expect([check.verdict, check.told]).toEqual(['well', 'next run at 2026-11-21T12:00:00.000Z']);
  });

  it.each<[string, string, string[]]>([
    ['runs a tick just now', shown('enabled', 'active', 'running'), ['well']],
    ['is not enabled', shown('disabled', 'active', 'waiting'), ['wrong', 'sudo systemctl enable --now deployd.timer']],
    ['is stopped', shown('enabled', 'inactive', 'dead'), ['wrong', 'sudo systemctl start deployd.timer']],
    ['has no next run', shown('enabled', 'active', 'elapsed'), ['wrong', 'sudo systemctl restart deployd.timer']],
    ['is not installed', shown('', 'inactive', 'dead', 'not-found'), ['not applicable']],
    ['is unknown without systemd', '', ['not applicable']],
  ])('%s', (_name, text, lines) => {
    expect(judged(judgeTimer(timerFactsOf(text, 'no JSON')))).toEqual(lines);
  });
});

describe('what a service says', () => {
  const place = { peer: 'tenancy', url: 'https://t', ca: null, laptop: false } as const;
  const away = { code: null, line: 'temporary network failure: x' };

  it('is normal to be missed on a laptop, but never is mistrust', () => {
    expect(judged(judgePeer(away, place))[0]).toBe('wrong');
    expect(judged(judgePeer(away, { ...place, laptop: true }))).toEqual(['not applicable']);
    expect(judgePeer({ code: 'TLS_UNTRUSTED', line: 'x' }, { ...place, laptop: true }).verdict).toBe('wrong');
  });

  it.each([
    [200, 'well'],
    [429, 'well'],
    [472, 'wrong'],
    [473, 'well'],
    [503, 'wrong'],
  ])('as %i makes it %s', (status, verdict) => {
    expect(judgePeer({ status, skewS: null }, place).verdict).toBe(verdict);
  });

  it.each([
    [[61, 0], 'wrong'],
    [[-61], 'wrong'],
    [[60, -60], 'well'],
    [[], 'unseen'],
  ])('of the time %j makes the clock %s', (skews, verdict) => {
    expect(judgeClock(skews.map((skewS) => ({ status: 200, skewS }))).verdict).toBe(verdict);
  });
});

it.each<[string, Check, string[]]>([
  [
    'an engine that hangs',
    judgeEngine({ socket: file(0o660), group: 'docker', fault: 'x' }, agent),
    ['wrong', 'sudo systemctl restart docker'],
  ],
  [
    'a socket that the agent may not use',
    judgeEngine({ socket: file(0o660, { writable: false }), group: 'docker', fault: null }, agent),
    ['wrong', 'sudo usermod -aG docker deployd'],
  ],
  [
    'a filesystem too full for the state',
    judgeRoom({ is: [{ paths: ['/var/lib/deployd'], freeBytes: 1, neededBytes: 2, purpose: 'state' }] }),
    ['wrong', 'sudo du -xsh /var/lib/deployd/*'],
  ],
  [
    'a configuration that the agent cannot read',
    judgeConfig({ file: file(0o600, { readable: false }), flaws: [] }, agent),
    ['wrong', 'sudo chgrp deployd /a/file && sudo chmod 640 /a/file'],
  ],
  [
    'a tick that runs for longer than it may',
    judgeLock({ is: { present: true, held: true, pid: 7, since: '2026-11-21T10:00:00Z', longestS: 7199 } }, now),
    ['wrong', 'sudo kill 7'],
  ],
  [
    'no fault in a tick that is at work',
    judgeLock({ is: { present: true, held: true, pid: 7, since: '2026-11-21T10:00:00Z', longestS: 7200 } }, now),
    ['well'],
  ],
])('finds %s', (_name, check, lines) => {
  expect(judged(check)).toEqual(lines);
});

it('reads when a grant ends, and guesses nothing', () => {
  const jwt = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
  expect(expiryOf(jwt({ exp: 1795262400, sub: 'ü?>' }))).toEqual(now);
  expect([jwt({}), jwt({ exp: 'soon' }), 'x', ''].map(expiryOf)).toEqual([null, null, null, null]);
});

it('tells the sum: all well, the faults, and what was not seen', () => {
  const check = (name: string, verdict: Check['verdict'], findings: Check['findings'] = []) => ({
    name,
    verdict,
    told: 'told',
    findings,
  });
  expect(doctorText(diagnosisOf([check('a', 'well'), check('b', 'not applicable')]))).toBe(
    'a  well      told\nb  n/a       told\n\nall is well',
  );
  const { well, checks } = diagnosisOf([check('a', 'wrong', [{ what: 'x\x1b', fix: 'y' }]), check('b', 'unseen')]);
  expect(doctorText({ well, checks })).toBe(
    'a  WRONG     told\n   x \n     fix: y\nb  not seen  told\n\n1 fault; not seen: b',
  );
  expect([well, diagnosisOf([check('b', 'unseen')]).well]).toEqual([false, false]);
});
