import { defaultPolicy } from '../../../protocol/hostPolicy.ts';
import { emptyState, type State } from '../state/state.ts';
import { formatStatus } from './formatStatus.ts';
import { statusOf } from './status.ts';

const at = '2026-11-21T12:00:00.000Z';
const signer = 'key SHA256:a';
const trust = { bundles: { keys: ['/etc/deployd/trust/release.pub'] } };
const facts = { version: '0.2.0', token: true, lock: null };
const applied: State = { ...emptyState('eu-1'), applied_sha: 'a'.repeat(64), applied_at: at, applied_version: '1' };

function signatureFacts(state: State, bundles: typeof trust.bundles | null) {
  const settings = { env: 'eu-1', site: 'berlin', transport: 'sdk', laptop_mode: false, policy: defaultPolicy };
  const status = statusOf({ ...settings, trust: { bundles } }, state, facts);
  const text = formatStatus(status, { state, stateError: null, now: new Date(at) });
  const rows = text.split('\n').filter((row) => /^ {2}(signed by|trust) /.test(row));
  return {
    signers: status.applied_signers,
    trust: status.trust,
    rows: rows.map((row) => row.trim().replace(/ +/g, ' ')),
  };
}

const trustRow = 'trust bundles signed by all of /etc/deployd/trust/release.pub';

it.each<[string, State, typeof trust.bundles | null, ReturnType<typeof signatureFacts>]>([
  ['needs no signature', applied, null, { signers: undefined, trust: undefined, rows: [] }],
  ['has nothing applied', emptyState('eu-1'), trust.bundles, { signers: undefined, trust, rows: [trustRow] }],
  [
    'began to trust after the apply',
    applied,
    trust.bundles,
    { signers: [], trust, rows: ['signed by nobody', trustRow] },
  ],
  [
    'applied what was signed',
    { ...applied, applied_signers: [signer, 'b'] },
    trust.bundles,
    { signers: [signer, 'b'], trust, rows: [`signed by ${signer}, b`, trustRow] },
  ],
  [
    'trusts nobody any more',
    { ...applied, applied_signers: [signer] },
    null,
    { signers: [signer], trust: undefined, rows: [`signed by ${signer}`] },
  ],
])('a host that %s', (_title, state, bundles, expected) => {
  expect(signatureFacts(state, bundles)).toEqual(expected);
});
