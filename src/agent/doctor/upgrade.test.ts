import { upgradeChecks, type UpgradeFacts } from './upgrade.ts';

const service = { name: 'migrate', image: 'a', kind: 'job' as const, jobReason: 'restart' as const, after: [] };
const healthcheck = {} as UpgradeFacts['services'][number]['healthcheck'];
const quiet: UpgradeFacts = {
  ...{
    dir: '/r',
    writable: [],
    services: [],
    recorded: new Set(),
    jobTimeoutS: 600,
    written: [],
    withoutEffect: [],
    kept: [],
    startFirst: [],
  },
  drifted: { known: [] },
  drift: 'heal',
  networks: { known: { changed: [], unused: [] } },
};
const outcomes = (facts: Partial<UpgradeFacts>) =>
  upgradeChecks({ known: { ...quiet, ...facts } }).flatMap(({ name, status, findings }) =>
    status === 'passed' ? [] : [`${name} ${status}: ${findings.map(({ problem }) => problem).join()}`],
  );

it.each<[string, Partial<UpgradeFacts>, RegExp[]]>([
  ['nothing', {}, []],
  [
    'writable mounts',
    { writable: ['conf'] },
    [/^writable mounts failed: containers can write to \.\/conf of the bundle/],
  ],
  [
    'files of others',
    { written: [{ sha: 'a', paths: ['x'] }] },
    [/^kept releases failed: release a has files .*\(x …\)/],
  ],
  [
    'services that are jobs',
    { services: [{ ...service, healthcheck }] },
    [/^jobs failed: migrate is a job \(restart is no/],
  ],
  ['no service that was a job before', { services: [{ ...service, healthcheck }], recorded: new Set(['migrate']) }, []],
  [
    'drift',
    { drifted: { known: [{ service: 'web', detail: 'x' }] } },
    [/^drift failed: web: x: the second tick creates it again/],
  ],
  [
    'drift that is only reported',
    { drifted: { known: [{ service: 'web', detail: 'x' }] }, drift: 'report' },
    [/each tick reports/],
  ],
  [
    'keys without an effect',
    { withoutEffect: [{ text: 'service web: cpu_percent is refused', cure: 'write cpus' }] },
    [/^keys failed: service web: cpu_percent is refused: it keeps running/],
  ],
  [
    'services that cannot be replaced start-first',
    { startFirst: [{ text: 'service web: order start-first is refused: ports 80', cure: 'remove it' }] },
    [/^start-first failed: service web: order start-first is refused: ports 80: it keeps running/],
  ],
  [
    'images that are no longer pulled with every bundle',
    { kept: [{ service: 'web', image: 'app:1', policy: 'missing' }] },
    [/^pull policies failed: web: pull_policy missing is honoured now: a bundle no longer pulls app:1/],
  ],
  [
    'networks that are created again',
    {
      networks: {
        known: { changed: [{ name: 'p_a', why: 'its definition changed (label b)', users: [] }], unused: [] },
      },
    },
    [/^networks failed: network p_a: its definition changed \(label b\): the next apply creates it again/],
  ],
  [
    'networks that containers outside the project use',
    {
      networks: {
        known: {
          changed: [{ name: 'p_a', why: 'its definition changed (internal)', users: ['guest'] }],
          unused: [{ name: 'p_b', users: ['guest'] }],
        },
      },
    },
    [/^networks failed: .*the next apply fails, .*: guest,network p_b: .*leaves it to guest$/],
  ],
  [
    'networks that are removed',
    { networks: { known: { changed: [], unused: [{ name: 'p_b', users: [] }] } } },
    [/^networks failed: network p_b: no service uses it: the next apply removes it$/],
  ],
  ['networks of an engine that does not answer', { networks: { unknown: 'no engine' } }, [/^networks unknown/]],
  ['an engine that does not answer', { drifted: { unknown: 'no engine' } }, [/^drift unknown/]],
])('the checks before an upgrade name %s', (_, facts, expected) => {
  expect(outcomes(facts)).toEqual(expected.map((each) => expect.stringMatching(each) as string));
});

it('finds no change without an applied release, and unknown without a state', () => {
  expect(upgradeChecks({ known: null }).map(({ status }) => status)).toEqual(Array(8).fill('passed'));
  expect(upgradeChecks({ unknown: 'x' }).map(({ status }) => status)).toEqual(Array(8).fill('unknown'));
});
