import { identityTokenProblem } from './identityToken.ts';

const nowMs = Date.parse('2026-11-26T04:00:00Z');
const seconds = nowMs / 1000;
const tokenOf = (claims: unknown) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
const good = { aud: 'sigstore', exp: seconds + 1 };
const noToken = 'is no OIDC identity token (JWT)';

it.each<[string, string, string | null]>([
  ['for sigstore', tokenOf(good), null],
  ['for sigstore and others', tokenOf({ ...good, aud: ['vault', 'sigstore'] }), null],
  ['at its last second', tokenOf({ ...good, exp: seconds }), 'expired at 2026-11-26T04:00:00.000Z: get a new one'],
  ['for others', tokenOf({ ...good, aud: ['a', 'b'] }), audience('a, b')],
  ['for a name that begins so', tokenOf({ ...good, aud: 'sigstore.example' }), audience('sigstore.example')],
  ['for nobody', tokenOf({ exp: seconds + 1 }), audience('nobody')],
  ['without an end', tokenOf({ aud: 'sigstore' }), 'does not tell when it expires'],
  ['with an end that is none', tokenOf({ ...good, exp: 1e300 }), 'does not tell when it expires'],
  ['with the last end that there is', tokenOf({ ...good, exp: 8.64e12 }), null],
  ['with an end beyond that', tokenOf({ ...good, exp: 8.64e12 + 1 }), 'does not tell when it expires'],
  ['with an end before all dates', tokenOf({ ...good, exp: -8.64e12 - 1 }), 'does not tell when it expires'],
  ['with an end as text', tokenOf({ ...good, exp: String(good.exp) }), 'does not tell when it expires'],
  ['of null', tokenOf(null), noToken],
  ['of a number', tokenOf(5), noToken],
  ['of a list', tokenOf([]), noToken],
  ['that is no JSON', 'e30.bm8.c2ln', noToken],
  ['of two parts', tokenOf(good).replace(/\.[^.]*$/, ''), noToken],
  ['after a blank', ` ${tokenOf(good)}`, noToken],
  ['before a blank', `${tokenOf(good)} `, noToken],
  ['in two lines', `${tokenOf(good)}\n${tokenOf(good)}`, noToken],
])('judges a token %s', (_what, token, problem) => {
  expect(identityTokenProblem(token, nowMs)).toBe(problem);
});

function audience(given: string): string {
  return `is for ${given}, not for sigstore: ask its issuer for one with that audience`;
}
