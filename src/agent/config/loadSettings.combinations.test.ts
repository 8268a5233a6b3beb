import type { TrustSettings } from '../../api/trust.rules.ts';
import { normalizeAddresses, validateCombinations } from './loadSettings.ts';
import type { Settings } from './configKeys.ts';

const valid: Partial<Settings> = {
  transport: 'system',
  tenancy_url: 'https://tenancy.example',
  secretstore_url: 'https://secretstore.example:8200/',
  port: 443,
};
const unencrypted =
  'must be an https:// URL without credentials, query and fragment; http:// is allowed to loopback and over the transports sdk and proxy';

it.each<[Partial<Settings>, ...(keyof Settings)[]]>([
  [{}],
  [{ tenancy_url: 'http://tenancy.example' }, 'tenancy_url'],
  [{ secretstore_url: 'http://10.0.0.1' }, 'secretstore_url'],
  [{ tenancy_url: 'http://a', secretstore_url: 'http://127.0.0.1.example/' }, 'tenancy_url', 'secretstore_url'],
  [{ tenancy_url: 'http://localhost:8080', secretstore_url: 'http://[::1]/base' }],
  [{ tenancy_url: 'http://127.0.0.1:8080' }],
  [{ tenancy_url: 'http://tenancy.deploy', transport: 'sdk' }],
  [{ tenancy_url: 'http://tenancy.deploy', transport: 'proxy' }],
])('unencrypted in %j: %s', (patch, ...keys) => {
  const problems = keys.map((key) => ({ key, message: unencrypted }));
  expect(validateCombinations({ ...valid, ...patch }, false)).toEqual(problems);
});

it.each<[string, Settings['transport'], number]>([
  ['http://collector.example:4318/v1/traces', 'system', 1],
  ['http://collector.example:4318/v1/traces', 'sdk', 1],
  ['http://127.0.0.1:4318/v1/traces', 'sdk', 0],
  ['https://collector.example/v1/traces', 'proxy', 0],
])('traces to %s with transport %s: %d problems', (otlp_endpoint, transport, count) => {
  const key = 'traces.otlp_endpoint';
  const message = 'must be an https:// URL without credentials, query and fragment; http:// is allowed to loopback';
  const problems = Array<object>(count).fill({ key, message });
  expect(validateCombinations({ ...valid, transport, traces: { otlp_endpoint, ca: null } }, false)).toEqual(problems);
});

it('reports nothing about invalid settings', () => {
  expect(validateCombinations({ tenancy_url: 'http://tenancy.example:1' }, true)).toEqual([]);
  expect(validateCombinations({ transport: 'system', port: 1 }, true)).toEqual([]);
});

it.each([
  ['https://tenancy.example', 443, null],
  ['https://tenancy.example', 8443, null],
  ['https://tenancy.example:8443', 8443, null],
  ['https://tenancy.example:9443', 8443, '9443'],
  ['https://tenancy.example:443/base', 8443, '443'],
  ['https://[::1]', 8443, null],
  ['https://tenancy.example/https://other:9443', 8443, null],
])('%s with the written port %s must have the port %s', (tenancy_url, port, meant) => {
  const problem = { key: 'port', message: `must be ${meant} as in tenancy_url, or be left out` };
  expect(validateCombinations({ ...valid, tenancy_url, port }, true)).toEqual(meant === null ? [] : [problem]);
  expect(validateCombinations({ ...valid, tenancy_url, port }, false)).toEqual([]);
});

it('names unknown time zones of windows', () => {
  const windows = ['Europe/Berlin', 'Europe/Atlantis'].map((time_zone) => ({
    ...{ days: ['mon' as const], start: '08:30', minutes: 90 },
    time_zone,
  }));
  expect(validateCombinations({ ...valid, apply: { windows, emergency: false } }, false)).toEqual([
    { key: 'apply.windows', message: 'must have known time zones: there is no Europe/Atlantis' },
  ]);
});

const key = '/etc/deployd/trust/release.pub';
const identity = { issuer: 'https://id.example', subject: 'release@example.com' };

it.each<[TrustSettings | null, string[]]>([
  [null, []],
  [{ keys: [key] }, []],
  [{ threshold: 2, keys: [key], identities: [identity], root: '/root.json' }, []],
  [{}, ['must name keys or identities, or be left out']],
  [{ threshold: 2, root: '/root.json' }, ['must name keys or identities, or be left out']],
  [{ threshold: 2, keys: [key] }, ['must have a threshold that can be met: it is 2, and 1 can sign']],
  [{ identities: [identity] }, ['must name the trust root (root) by which its identities are verified']],
])('the trust %j', (trust, messages) => {
  const problemsOf = (key: string) => messages.map((message) => ({ key, message }));
  const problems = [...problemsOf('trust.bundles'), ...problemsOf('trust.images')];
  expect(validateCombinations({ ...valid, trust: { bundles: trust, images: trust } }, false)).toEqual(problems);
});

it.each<[object, string[]]>([
  [{ rules: [{ repository: 'ghcr.io', keys: [key] }] }, []],
  [{ keys: [key], rules: [{ repository: 'ghcr.io', keys: [key] }] }, []],
  [{ rules: [{ repository: 'ghcr.io' }] }, ['must name keys or identities, or be left out in the rule for ghcr.io']],
  [
    { threshold: 2, keys: [key], rules: ['a', 'a'].map((each) => ({ repository: `${each}.example`, keys: [key] })) },
    ['must have a threshold that can be met: it is 2, and 1 can sign', 'must have one rule for a.example'],
  ],
])('the trust in images %j', (images, messages) => {
  const problems = messages.map((message) => ({ key: 'trust.images', message }));
  expect(validateCombinations({ ...valid, trust: { bundles: null, images } }, false)).toEqual(problems);
});

it('reports an unencrypted address and another port together', () => {
  const problems = validateCombinations({ ...valid, tenancy_url: 'http://tenancy.example:80' }, true);
  expect(problems.map(({ key }) => key)).toEqual(['tenancy_url', 'port']);
});

it.each([
  ['https://tenancy.example', 443, 'https://tenancy.example', 443],
  ['https://tenancy.example/', 8443, 'https://tenancy.example:8443', 8443],
  ['https://tenancy.example:9443/base//', 443, 'https://tenancy.example:9443/base', 9443],
  ['https://[::1]:443', 8443, 'https://[::1]', 443],
  ['http://localhost', 443, 'http://localhost:443', 443],
])('%s with the port %s becomes %s with %s', (tenancy_url, port, address, only) => {
  const settings = normalizeAddresses({ ...valid, env: 'eu-1', tenancy_url, port } as Settings);
  expect(settings).toEqual({
    ...valid,
    env: 'eu-1',
    secretstore_url: 'https://secretstore.example:8200',
    tenancy_url: address,
    port: only,
  });
});
