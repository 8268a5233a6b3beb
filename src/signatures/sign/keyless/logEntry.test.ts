import { entryOfAnswer, entryRequest } from './logEntry.ts';

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
