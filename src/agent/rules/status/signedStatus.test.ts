import { defaultPolicy } from '../../../protocol/hostPolicy.ts';
import { emptyState, type State } from '../state/state.ts';
import { formatStatus } from './formatStatus.ts';
import { statusOf } from './status.ts';

const at = '2026-11-21T12:00:00.000Z';
const signer = 'key SHA256:a';
const trust = { bundles: { keys: ['/etc/deployd/trust/release.pub'] }, images: null };
const facts = {
  ...{ version: '0.2.0', token: true, deferring: {}, lock: null, now: new Date(at) },
  ...{ bootTime: { boot: '', uptime_s: 1 }, seen: { unknown: 'nobody looked' } },
};
const applied: State = { ...emptyState('eu-1'), applied_sha: 'a'.repeat(64), applied_at: at, applied_version: '1' };

function signatureFacts(state: State, bundles: typeof trust.bundles | null) {
  const settings = {
    env: 'eu-1',
    site: 'berlin',
    transport: 'sdk',
    laptop_mode: false,
    interval_s: 60,
    policy: defaultPolicy,
  };
  const status = statusOf({ ...settings, trust: { bundles, images: null } }, state, facts);
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

it('tells whose signatures bundles and images need in one row', () => {
  const settings = {
    env: 'eu-1',
    site: 'berlin',
    transport: 'sdk',
    laptop_mode: false,
    interval_s: 60,
    policy: defaultPolicy,
  };
  const state = emptyState('eu-1');
  const status = statusOf(
    { ...settings, trust: { bundles: { keys: ['/a'] }, images: { keys: ['/b'] } } },
    state,
    facts,
  );
  expect(formatStatus(status, { state, stateError: null, now: new Date(at) })).toMatch(
    / bundles signed by all of \/a; images signed by all of \/b$/m,
  );
});

describe('images', () => {
  const settings = {
    env: 'eu-1',
    site: 'berlin',
    transport: 'sdk',
    laptop_mode: false,
    interval_s: 60,
    policy: defaultPolicy,
  };
  const image = { service: 'web', image: 'shop/web:1@sha256:d', digest: 'sha256:d', signers: [signer, 'b'] };
  const statusWith = (state: State, images: typeof trust.bundles | null) => {
    const status = statusOf({ ...settings, trust: { bundles: null, images } }, state, facts);
    const text = formatStatus(status, { state, stateError: null, now: new Date(at) });
    const rows = text.split('\n').filter((row) => /^ {2}(images|trust) /.test(row));
    return { images: status.applied_images, rows: rows.map((row) => row.trim().replace(/ +/g, ' ')) };
  };

  it('are told with who signed each, while they have to be signed or are', () => {
    const signed = { ...applied, applied_images: [image, { ...image, service: 'db', signers: ['b'] }] };
    const row = `images web signed by ${signer}, b; db signed by b`;
    expect(statusWith(applied, null)).toEqual({ images: undefined, rows: [] });
    expect(statusWith(signed, null)).toEqual({ images: signed.applied_images, rows: [row] });
    const trustRow = 'trust images signed by all of /etc/deployd/trust/release.pub';
    expect(statusWith(signed, trust.bundles).rows).toEqual([row, trustRow]);
    expect(statusWith(applied, trust.bundles)).toEqual({ images: [], rows: ['images nobody signed them', trustRow] });
    expect(statusWith(emptyState('eu-1'), trust.bundles)).toEqual({ images: undefined, rows: [trustRow] });
  });
});
