import { der, entryOfAnswer, entryRequest, identityTokenProblem } from './sigstoreForms.ts';

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

const base64 = (text: string) => Buffer.from(text).toString('base64');
const body = base64('{"kind":"dsse","apiVersion":"0.0.1"}');
const entry = {
  body,
  integratedTime: 1_700_000_000,
  logID: '00ff',
  logIndex: 0,
  verification: {
    inclusionProof: { checkpoint: 'note', hashes: ['01', '02'], logIndex: 3, rootHash: '0a', treeSize: 4 },
    signedEntryTimestamp: 'c2V0',
  },
};

it('asks the log to take an envelope with its certificate', () => {
  const envelope = { payload: 'e30=', payloadType: 'text', signatures: [{ sig: 'c2ln' }] as [{ sig: string }] };
  expect(entryRequest(envelope, 'pem')).toEqual({
    apiVersion: '0.0.1',
    kind: 'dsse',
    spec: { proposedContent: { envelope: JSON.stringify(envelope), verifiers: [base64('pem')] } },
  });
});

it('writes an entry as a Sigstore bundle has it: numbers as text, bytes in base64', () => {
  expect(entryOfAnswer({ id: entry })).toEqual({
    logIndex: '0',
    logId: { keyId: 'AP8=' },
    kindVersion: { kind: 'dsse', version: '0.0.1' },
    integratedTime: '1700000000',
    inclusionPromise: { signedEntryTimestamp: 'c2V0' },
    inclusionProof: {
      logIndex: '3',
      rootHash: 'Cg==',
      treeSize: '4',
      hashes: ['AQ==', 'Ag=='],
      checkpoint: { envelope: 'note' },
    },
    canonicalizedBody: body,
  });
});

it.each<[string, unknown]>([
  ['null', null],
  ['an empty object', {}],
  ['an entry without a proof', { id: { ...entry, verification: {} } }],
  ['an entry without a body', { id: { ...entry, body: '' } }],
])('throws for %s', (_what, answer) => {
  expect(() => entryOfAnswer(answer)).toThrow();
});

it.each([
  [0, '0400'],
  [127, '047f'],
  [128, '048180'],
  [255, '0481ff'],
])('writes a value of %i bytes with its length', (length, header) => {
  const value = Buffer.alloc(length, 1);
  expect(der(4, value.subarray(0, 100), value.subarray(100)).toString('hex')).toBe(header + value.toString('hex'));
});
