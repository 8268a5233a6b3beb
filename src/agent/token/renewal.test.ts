import { failedFault } from '../../../machines/fault.ts';
import type { Outcome } from '../../../machines/types.ts';
import { renewToken, type TokenDependencies } from './token.ts';

const never = new AbortController().signal;

it.each([
  ['keeps the token of a cloned host, which the other host uses too', 'HOST_CLONED', ['renew']],
  ['replaces a token that cannot be renewed after any other failure', 'PROTOCOL_INVALID', ['renew', 'lease']],
])('%s', async (_title, code, calls) => {
  const made: string[] = [];
  const deps = {
    settings: { interval_s: 60 },
    state: { state: { token: { trouble: null, expires_at: null } }, update: async () => undefined },
    tick: { journal: { error: () => undefined } },
    vault: {
      ...{ hasToken: () => true, token: () => 't', leaseTokens: () => [], candidate: () => null },
      redactor: () => ({ redact: (text: string) => text }),
    },
    secretstore: { renewSelf: async () => (made.push('renew'), { refused: 'too old' }) },
    tenancy: {
      lease: async () => {
        made.push('lease');
        throw failedFault('PROTOCOL_INVALID', 'enough');
      },
    },
  } as unknown as TokenDependencies;
  await renewToken(deps, { outcome: { ending: 'failed', code } as Outcome }, never);
  expect(made).toEqual(calls);
});
