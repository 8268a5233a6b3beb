import { digest, side } from '../../fixtures/world/bundles/diffSide.ts';
import type { Manifest } from '../../machines/types.ts';
import { type BundleDiff, diffOf, type DiffSide, formatDiff, withoutConfidential } from './bundleDiff.rules.ts';

const web = (keys: string) => `services: {web: {${keys}}}`;

/** The changes of the service `web`, as `key: before → after`. */
function changesOfWeb(before: string | string[], after: string | string[]): string[] {
  const { services } = diffOf(side(before), side(after));
  return services.flatMap(({ keys }) => keys.map(({ key, ...each }) => `${key}: ${each.before} → ${each.after}`));
}

describe('the services of two bundles', () => {
  it('are added, removed and changed by name', () => {
    const { services } = diffOf(
      side('services: {a: {image: x}, b: {image: x}, c: {image: x}}'),
      side('services: {d: {image: y}, c: {image: x}, b: {image: y}}'),
    );
    expect(services).toEqual([
      { name: 'a', change: 'removed', keys: [{ key: 'image', before: 'x', after: null }] },
      { name: 'b', change: 'changed', keys: [{ key: 'image', before: 'x', after: 'y' }] },
      { name: 'd', change: 'added', keys: [{ key: 'image', before: null, after: 'y' }] },
    ]);
  });

  it.each<[string, string, string, string[]]>([
    [
      'values of variables',
      'environment: {A: 1, B: 2}',
      'environment: {A: 2, C: 3}',
      ['A: 1 → 2', 'B: 2 → null', 'C: null → 3'],
    ],
    [
      'a list of them',
      'environment: [A=1, B, "C=x=y"]',
      'environment: {A: 1, C: x=z}',
      ['B: (none) → null', 'C: x=y → x=z'],
    ],
  ])('differ by %s', (_title, before, after, changes) => {
    expect(changesOfWeb(web(before), web(after))).toEqual(changes.map((change) => `environment.${change}`));
  });

  it.each<[string, string, string, string[]]>([
    ['a text', 'image: a', 'image: b', ['image: a → b']],
    [
      'items of a list, whatever their order',
      'ports: ["1:1", "2:2"]',
      'ports: ["3:3", "2:2"]',
      ['ports: 1:1 → null', 'ports: null → 3:3'],
    ],
    ['nothing but the order', 'ports: ["1:1", "2:2"]', 'ports: ["2:2", "1:1"]', []],
    [
      'a mount in its long form',
      'volumes: [{type: bind, source: ./a, target: /a}]',
      'volumes: ["a:/a"]',
      ['volumes: {"type":"bind","source":"./a","target":"/a"} → null', 'volumes: null → a:/a'],
    ],
    ['the order of a command', 'command: [a, b]', 'command: [b, a]', ['command: ["a","b"] → ["b","a"]']],
    ['a command that is a text now', 'command: [a]', 'command: a', ['command: ["a"] → a']],
    [
      'a nested key',
      'deploy: {resources: {limits: {cpus: 1}}}',
      'deploy: {resources: {limits: {cpus: 2}}}',
      ['deploy.resources.limits.cpus: 1 → 2'],
    ],
    ['a list that was one text', 'env_file: a.env', 'env_file: [a.env, b.env]', ['env_file: null → b.env']],
    ['an empty mapping', 'networks: {n: {}}', 'networks: {}', ['networks.n: {} → null', 'networks: null → {}']],
    [
      'a key without a value',
      'networks: {n: }',
      'networks: {n: {aliases: [a]}}',
      ['networks.n: (none) → null', 'networks.n.aliases: null → a'],
    ],
  ])('differ by %s', (_title, before, after, changes) => {
    expect(changesOfWeb(web(before), web(after))).toEqual(changes);
  });

  it('are compared as compose merges their files and what they extend', () => {
    const one = web('image: a, environment: {A: 1, B: 2}, ports: ["1:1", "2:2"]');
    const several = [
      'services: {base: {environment: [A=1], ports: ["1:1"]}, web: {extends: base, image: b}}',
      web('image: a, environment: {B: 2}, ports: ["2:2"]'),
    ];
    const { services } = diffOf(side(one), side(several));
    expect(services.map(({ name, change }) => `${name} ${change}`)).toEqual(['base added']);
  });
});

it('shows networks, volumes, configs and secrets of the files', () => {
  const before = `${web('image: a')}\nnetworks: {n: {}}\nvolumes: {data: {driver: local}}\nconfigs: {c: {file: ./a}}`;
  const after = `${web('image: a')}\nvolumes: {data: {driver: nfs}}\nconfigs: {c: {file: ./a}}\nsecrets: {s: {environment: P}}`;
  expect(diffOf(side(before), side(after)).resources).toEqual([
    { name: 'network n', change: 'removed', keys: [] },
    { name: 'volume data', change: 'changed', keys: [{ key: 'driver', before: 'local', after: 'nfs' }] },
    { name: 'secret s', change: 'added', keys: [{ key: 'environment', before: null, after: 'P' }] },
  ]);
});

it('shows images with the variables of the bundle', () => {
  const [before, after] = [{ variables: { TAG: '1' } }, { variables: { TAG: '2' } }];
  const text = 'services: {a: {image: "app:${TAG}"}, b: {image: db}, c: {image: "app:${TAG}", profiles: [p]}}';
  const { images, variables, services } = diffOf(side(text, { manifest: before }), side(text, { manifest: after }));
  expect(images.map((image) => [image.before, image.after])).toEqual([
    ['app:1', null],
    [null, 'app:2'],
  ]);
  expect(variables).toEqual([{ key: 'TAG', before: '1', after: '2' }]);
  expect(services).toEqual([]);
});

it('shows an activated profile, and the image that comes with it', () => {
  const text = 'services: {a: {image: app}, b: {image: tool, profiles: [p, q]}}';
  const { manifest, images } = diffOf(side(text), side(text, { manifest: { profiles: ['q'] } }));
  expect(manifest).toEqual([{ key: 'profiles', before: null, after: 'q' }]);
  expect(images).toEqual([{ key: 'image', before: null, after: 'tool' }]);
});

it('shows the manifest, and the paths of secrets', () => {
  const secret = { var: 'A', path: 'deployd/data/eu-1/see/a', field: 'f', version: null };
  const registry = { host: 'r', username_var: 'A', password_var: 'A' };
  const before = { secrets: [secret], variables: { OLD: 'x' } };
  const after: Partial<Manifest> = {
    version: '2',
    production: true,
    agent: { allow_privileged: true, allow_rollback: false },
    disk_need_bytes: 5,
    secrets: [{ ...secret, version: 3 }],
    registries: [registry],
  };
  const found = diffOf(side(web('image: a'), { manifest: before }), side(web('image: a'), { manifest: after }));
  expect(found.manifest).toEqual([
    { key: 'version', before: '1', after: '2' },
    { key: 'production', before: 'false', after: 'true' },
    { key: 'agent.allow_privileged', before: 'false', after: 'true' },
    { key: 'registries', before: null, after: 'r (A, A)' },
    { key: 'disk_need_bytes', before: null, after: '5' },
  ]);
  expect(found.variables).toEqual([{ key: 'OLD', before: 'x', after: null }]);
  const place = 'deployd/data/eu-1/see/a field f';
  expect(found.secrets).toEqual([{ key: 'A', before: `${place}, latest version`, after: `${place}, version 3` }]);
});

it('shows files by digest and executable bit, and empty directories', () => {
  const before = side(web('image: a'), {
    files: { 'a/x': digest('1'), y: digest('2'), z: digest('3') },
    directories: ['a', 'empty'],
  });
  const after = side(web('image: a'), {
    files: { 'a/x': digest('4'), y: digest('2'), new: digest('5') },
    executable: ['y'],
    directories: [],
  });
  const { files, same_content } = diffOf(before, after);
  expect(files).toEqual([
    { key: 'empty/', before: 'directory', after: null },
    { key: 'a/x', before: digest('1'), after: digest('4') },
    { key: 'y', before: digest('2'), after: `${digest('2')}, executable` },
    { key: 'z', before: digest('3'), after: null },
    { key: 'new', before: null, after: digest('5') },
  ]);
  expect(same_content).toBe(false);
});

describe('the privileges that two bundles need', () => {
  const privilegesOf = (before: DiffSide, after: DiffSide) =>
    diffOf(before, after).privileges.map((privilege) => [privilege.key, privilege.before, privilege.after]);

  it('are shown whatever the flags of the bundles', () => {
    const agent = { allow_privileged: true, allow_rollback: false };
    const after = side(web('image: a, privileged: true, network_mode: host'), { manifest: { agent } });
    expect(privilegesOf(side(web('image: a, cap_add: [NET_ADMIN]')), after)).toEqual([
      ['PRIVILEGED_REFUSED', expect.stringContaining('service web: cap_add'), null],
      ['PRIVILEGED_REFUSED', null, expect.stringContaining('service web: privileged')],
      ['HOST_NETWORK_REFUSED', null, expect.stringContaining('service web: network_mode')],
    ]);
  });

  it('are the same on another line, and no other refusal is one', () => {
    const text = web('image: a, privileged: true');
    expect(privilegesOf(side(`${text}\n`), side(`\n\n${text}\nx-more: 1\nnonsense: {}`))).toEqual([]);
  });
});

it('reports that nothing differs', () => {
  const nothing = [
    'manifest',
    'services',
    'resources',
    'images',
    'variables',
    'secrets',
    'files',
    'privileges',
  ] as const;
  const found: BundleDiff = diffOf(side(web('image: a')), side(web('image: a')));
  expect(nothing.map((key) => found[key])).toEqual(nothing.map(() => []));
  expect(found.same_content).toBe(true);
});

const canary = 'hunter2';
const differing = (before: string, after: string) => withoutConfidential(diffOf(side(before), side(after)));
const service = (keys: string) => `services: {web: {image: app, ${keys}}}`;

it.each([
  ['environment', (value: string) => service(`environment: {PASSWORD: ${value}}`)],
  ['environment as a list', (value: string) => service(`environment: ["PASSWORD=${value}"]`)],
  ['command', (value: string) => service(`command: ["run", "--password=${value}"]`)],
  ['entrypoint', (value: string) => service(`entrypoint: run ${value}`)],
  ['test of health', (value: string) => service(`healthcheck: {test: curl -u a:${value} localhost}`)],
  ['labels', (value: string) => service(`labels: {auth: ${value}}`)],
  ['labels of deploy', (value: string) => service(`deploy: {labels: {auth: ${value}}}`)],
  ['annotations', (value: string) => service(`annotations: {auth: ${value}}`)],
  ['options of a log', (value: string) => service(`logging: {driver: splunk, options: {splunk-token: ${value}}}`)],
  ['hook', (value: string) => service(`post_start: [{command: login ${value}}]`)],
  ['extension', (value: string) => service(`x-auth: {password: ${value}}`)],
  ['options of a device', (value: string) => service(`gpus: [{driver: nvidia, options: {key: ${value}}}]`)],
  ['labels of a mount', (value: string) => service(`volumes: [{target: /a, volume: {labels: {auth: ${value}}}}]`)],
  ['extension of a port', (value: string) => service(`ports: [{target: 80, x-auth: ${value}}]`)],
  ['file in the compose file', (value: string) => `configs: {c: {content: ${value}}}`],
  ['options of a volume', (value: string) => `volumes: {v: {driver_opts: {type: cifs, o: "password=${value}"}}}`],
])('shows that its %s differs, is new or is gone, but not the value', (_, compose) => {
  const [one, other, none] = [compose(canary), compose(`${canary}3`), 'services: {web: {image: app}}'];
  for (const [before, after] of [
    [one, other],
    [none, one],
    [one, none],
  ] as const) {
    // The sample has texts where bundles have the digests of files.
    const told = JSON.stringify({ ...differing(before, after), files: [] });
    expect(told).toContain('(not shown)');
    expect(told).not.toContain(canary);
  }
});

it('shows everything else, and a hidden value once', () => {
  const compose = (version: string) =>
    service(
      `environment: {LEVEL: "${version}"}, ports: ["80${version}:80"], restart: always, cap_add: [CAP${version}]`,
    );
  const diff = differing(compose('1'), compose('2'));
  expect(diff.services).toEqual([
    {
      name: 'web',
      change: 'changed',
      keys: [
        { key: 'environment.LEVEL', before: '(not shown)', after: '(not shown)' },
        { key: 'ports', before: '801:80', after: null },
        { key: 'ports', before: null, after: '802:80' },
        { key: 'cap_add', before: 'CAP1', after: null },
        { key: 'cap_add', before: null, after: 'CAP2' },
      ],
    },
  ]);
  expect(diff.privileges.map(({ before, after }) => before ?? after)).toEqual([
    expect.stringContaining('cap_add CAP1 (compose.yaml): permit it by policy'),
    expect.stringContaining('cap_add CAP2 (compose.yaml): permit it by policy'),
  ]);
  expect(formatDiff(diff)).toMatch(/~ environment.LEVEL: \(not shown\)$/m);
});

it('shows the whole part that differs of long values', () => {
  const run = (last: string) => side(web(`image: a, command: [sh, -c, "${'set -e; '.repeat(100)}exec ${last}"]`));
  const [evil, script] = ['evil; '.repeat(60), 'a'.repeat(900)];
  expect(formatDiff(diffOf(run('serve'), run(evil)))).toMatch(
    new RegExp(`~ command: ….{1,60}exec serve"] → ….{1,60}exec ${evil}"]$`, 'm'),
  );
  const added = side(`services: {web: {image: a, environment: {A: "${script}evil"}}}`);
  expect(formatDiff(diffOf(side(web('image: a')), added))).toContain(`${script}evil`);
});
