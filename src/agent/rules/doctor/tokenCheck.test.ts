import { checkLines } from '../../../../fixtures/spec/checkLines.ts';
import { emptyState, type State } from '../state/state.ts';
import { unknownTokenStatus } from '../token/tokenStatus.ts';
import type { TokenLookup } from '../secretstore/secretstoreResponse.ts';
import type { CheckContext } from './checkContext.ts';
import type { FileFacts } from '../../../platform/host/hostFacts.ts';
import { checkToken, jwtExpiryOf, type TokenFacts } from './tokenCheck.ts';

const now = new Date('2026-11-21T12:00:00Z');
const earlier = '2026-11-21T11:59:59.999Z';
const later = '2026-11-21T12:00:00.001Z';

const noGrant: FileFacts = { path: '/a/grant', found: null, readable: null, writable: null };
const grant: FileFacts = { ...noGrant, found: { mode: 0o600, uid: 900, gid: 900, mtime: now } };
const alive: TokenLookup = {
  ...{ dead: false, ttlS: 120, creationTtlS: 3600, renewable: true, expireTime: later, env: 'eu-1' },
};
const recorded = (more: Partial<State>, token: Partial<State['token']> = {}): CheckContext['state'] => ({
  known: { ...emptyState('eu-1'), ...more, token: { ...unknownTokenStatus(), ...token } },
});

function tokenCheck(more: Partial<TokenFacts>, state: CheckContext['state'] = recorded({})): string[] {
  const usual = {
    token: withLookup(alive),
    grant: noGrant,
    grantExpiry: null,
    env: 'eu-1',
    intervalS: 60,
    laptop: false,
  };
  const facts = { ...usual, ...more };
  const context = { now, agent: { name: 'deployd', uid: 900, gids: [] }, state };
  return checkLines(checkToken(facts, context));
}

function withLookup(lookup: TokenLookup | null): TokenFacts['token'] {
  return { known: { present: true, lookup: lookup === null ? { unknown: 'away' } : { known: lookup } } };
}

const renew = 'sudo install -m 0600 -o deployd -g deployd NEW-GRANT /a/grant && sudo deployd bootstrap';
const isAlive = `alive, until ${later}`;
const absent: TokenFacts['token'] = { known: { present: false, lookup: { unknown: 'there is no token' } } };

it.each<[string, string[], string[]]>([
  ['passes for two intervals more', tokenCheck({}), ['token: passed', isAlive]],
  [
    'is not renewed in time',
    tokenCheck({ token: withLookup({ ...alive, ttlS: 119 }) }),
    ['token: failed', isAlive, 'the token ends in 119 s', 'sudo deployd run --once'],
  ],
  [
    'never expires',
    tokenCheck({ token: withLookup({ ...alive, ttlS: 0, expireTime: null }) }),
    ['token: passed', 'alive, without end'],
  ],
  [
    'is of another env',
    tokenCheck({ env: 'eu-2' }),
    ['token: failed', isAlive, 'the token belongs to env eu-1, config.yaml says eu-2', renew],
  ],
  ['is of an unknown env', tokenCheck({ token: withLookup({ ...alive, env: null }) }), ['token: passed', isAlive]],
  ['is of an env when the configuration has none', tokenCheck({ env: null }), ['token: passed', isAlive]],
  [
    'is not known to the secretstore',
    tokenCheck({ token: withLookup({ dead: true }) }),
    ['token: failed', 'dead', 'the secretstore does not know the token any more', renew],
  ],
  [
    'has no policy for its lookup, so that it is not reported as dead',
    tokenCheck({ token: withLookup({ denied: true }) }),
    [
      ...['token: failed', 'present, may not look itself up'],
      'no policy lets the token look itself up; the policy default of the secretstore does',
      'bao read auth/jwt-tenancy/role/ROLE',
    ],
  ],
  ['cannot be looked up', tokenCheck({ token: withLookup(null) }), ['token: unknown', 'present; not looked up: away']],
  [
    'cannot be looked up on a laptop, where that is normal',
    tokenCheck({ token: withLookup(null), laptop: true }),
    ['token: not applicable', 'present; not looked up: away'],
  ],
  [
    'is not known at all',
    tokenCheck({ token: withLookup(null) }, { unknown: 'x' }),
    ['token: unknown', 'present; not looked up: away'],
  ],
  [
    'cannot be looked up before the first tick',
    tokenCheck({ token: withLookup(null) }, { known: null }),
    ['token: unknown', 'present; not looked up: away'],
  ],
  [
    'expires now by the state',
    tokenCheck({ token: withLookup(null) }, recorded({}, { expires_at: now.toISOString() })),
    ['token: unknown', 'present, until 2026-11-21T12:00:00.000Z; not looked up: away'],
  ],
  [
    'has expired by the state',
    tokenCheck({ token: withLookup(null) }, recorded({}, { expires_at: earlier })),
    ['token: failed', `present, until ${earlier}`, `the token expired at ${earlier}`, renew],
  ],
  [
    'was refused and not renewed',
    tokenCheck(
      {},
      recorded(
        { last_outcome: { at: earlier, outcome: 'unauthenticated', code: 'AGENT_UNAUTHENTICATED', detail: null } },
        { trouble: 'HTTP 500' },
      ),
    ),
    [
      ...['token: failed', isAlive, `the tenancy service refused the token at ${earlier}`, renew],
      ...['it was not renewed: HTTP 500', 'sudo deployd trace'],
    ],
  ],
  ['is not accessible', tokenCheck({ token: { unknown: 'use sudo' } }), ['token: unknown', 'use sudo']],
  [
    'is absent without a grant',
    tokenCheck({ token: absent }),
    ['token: failed', 'absent', 'token ABSENT, and no bootstrap grant', renew],
  ],
  [
    'is absent with a fresh grant',
    tokenCheck({ token: absent, grant }),
    ['token: failed', 'absent', 'token ABSENT', 'sudo deployd bootstrap'],
  ],
  [
    'is absent with a hidden grant',
    tokenCheck({ token: absent, grant: { ...grant, found: 'hidden' }, grantExpiry: new Date(earlier) }),
    ['token: failed', 'absent', 'token ABSENT', 'sudo deployd bootstrap'],
  ],
  [
    'is absent with an expired grant',
    tokenCheck({ token: absent, grant, grantExpiry: new Date(earlier) }),
    ['token: failed', 'absent', `the grant expired at ${earlier}`, renew],
  ],
])('the token %s', (_name, lines, expected) => {
  expect(lines).toEqual(expected);
});

const ticked = (at: string) => recorded({ last_outcome: { at, outcome: 'heartbeat', code: null, detail: null } });

it.each<[string, string[], string[]]>([
  ['expires now', tokenCheck({ grant, grantExpiry: now }), []],
  ['waits before the first tick', tokenCheck({ grant }, { known: null }), []],
  ['waits while the state is unknown', tokenCheck({ grant }, { unknown: 'x' }), []],
  ['was placed after the last tick', tokenCheck({ grant }, ticked(now.toISOString())), []],
  [
    'was left by a tick',
    tokenCheck({ grant }, ticked(later)),
    ['ticks have left the grant /a/grant where it is', 'sudo deployd bootstrap'],
  ],
  [
    'is not taken',
    tokenCheck({ grant }, recorded({}, { grant_refused: 'BOOTSTRAP_REFUSED: expired' })),
    ['the grant is not taken: BOOTSTRAP_REFUSED: expired', 'sudo rm /a/grant'],
  ],
])('a grant beside a token %s', (_name, [, , ...findings], expected) => {
  expect(findings).toEqual(expected);
});

it('reads the expiry of a grant, null when it has none', () => {
  const jwt = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;
  const escaped = jwt({ exp: 1795262400, sub: '???>>>~~~???>>>' });
  expect(escaped).toMatch(/_.*-.*-.*_/);
  expect(jwtExpiryOf(escaped)).toEqual(now);
  expect([jwt({}), jwt({ exp: 'soon' }), 'x', ''].map(jwtExpiryOf)).toEqual([null, null, null, null]);
});
