import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { sharedEngine } from '../../../fixtures/world/harness.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';

let dir: string;
beforeEach(() => void (dir = tempDir()));

function project(files: Record<string, string>): string {
  const source = join(dir, 'shop');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(source, path, '..'), { recursive: true });
    writeFileSync(join(source, path), text);
  }
  return source;
}

const run = (compose: string, source: string, ...more: string[]) =>
  deployctl(['bundle', 'import', source, '--env', 'eu-1', '--out', join(dir, 'out'), '--compose', compose, ...more]);
const bring = (source: string, ...more: string[]) => run(sharedEngine().compose, source, ...more);
const compose = (name = 'compose.yaml') => parse(readFileSync(join(dir, 'out', name), 'utf8')) as unknown;

const shop = {
  'compose.yaml': [
    'services:',
    '  web:',
    '    image: nginx:${TAG}',
    '    environment: {API_KEY: hunter2}',
    '    volumes: [./run.sh:/run.sh:ro, /srv/shop:/srv/shop, /run/docker.sock:/run/docker.sock]',
    'x-unused: {password: hunter2}',
  ].join('\n'),
  '.env': 'TAG=1.29\n',
  'run.sh': 'echo',
};

it('makes a packed bundle, and reports its changes and requirements, but no secret', async () => {
  const source = project(shop);
  chmodSync(join(source, 'run.sh'), 0o4755);
  const { exit, stdout, stderr } = await bring(source);
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  for (const words of [
    'bundle         shop, for environment eu-1\n',
    '  service web: environment.API_KEY: is ${API_KEY} now: ',
    '  TAG=1.29\n',
    '  deployctl secret set eu-1 shop-api-key --field api_key   # API_KEY\n',
    '  policy:\n    permit:\n      binds: [/srv/shop]\n      engine_socket: [web]\n',
    '\nnothing is refused with these permits\n',
  ])
    expect(stdout).toContain(words);
  const written = readdirSync(join(dir, 'out')).toSorted();
  expect(written).toEqual(['compose.yaml', 'manifest.json', 'run.sh']);
  expect(statSync(join(dir, 'out', 'run.sh')).mode & 0o7777).toBe(0o755);
  expect([stdout, ...written.map((name) => readFileSync(join(dir, 'out', name), 'utf8'))].join()).not.toContain(
    'hunter2',
  );
});

it('imports a project without privileges into a bundle that is not refused', async () => {
  const source = project({ 'docker-compose.yml': 'services: {web: {image: x, volumes: ["./data:/data"]}}\n' });
  expect(await bring(source, '--name', 'other')).toMatchObject({
    exit: 0,
    stdout: expect.stringMatching(/\nnothing is refused\nnext: deployctl bundle pack \/.*\/out\n$/) as string,
  });
  expect(compose()).toEqual({
    services: { web: { image: 'x', volumes: ['data:/data'] } },
    volumes: { data: {} },
  });
  expect(await deployctl(['bundle', 'pack', join(dir, 'out'), '--out', join(dir, 'x.tar.gz')])).toMatchObject({
    exit: 0,
  });
});

it('names the example of a missing .env, and each refusal in a line', async () => {
  const files = {
    'compose.yaml': 'services: {web: {image: x, env_file: .env, cgroup_parent: x, credential_spec: {file: y}}}\n',
  };
  const missing = await bring(project({ ...files, '.env.example': 'A=1\n' }));
  expect(missing.stderr).toContain('.env.example is an example of .env: copy it, and set its values');
  const { stdout } = await bring(project({ ...files, '.env': 'A=1\n' }));
  expect(stdout.split('\n').filter((line) => /^ {2}(PRIVILEGED|COMPOSE)_REFUSED: /.test(line))).toHaveLength(2);
});

it('prints the same as JSON, and fails while a decision is open or something is refused', async () => {
  const source = project({
    'a.yaml': 'services: {web: {build: ., privileged: true, cgroup_parent: x, image: "${T:?}"}}\n',
  });
  const { exit, stdout } = await bring(join(source, 'a.yaml'), '--json');
  expect(exit).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ directory: join(dir, 'out'), files: ['manifest.json', 'compose.yaml'], permits: { privileged: ['web'] } },
    changes: [{ owner: 'service web', key: 'build' }],
    undecided: [{ owner: 'project', key: 'variables', what: 'T has no value' }],
    plan: {
      refusals: [
        { code: 'ENV_INCOMPLETE' },
        { code: 'PRIVILEGED_REFUSED', detail: expect.stringContaining('cgroup_parent') as string },
      ],
    },
  });
});

it('prints one command for the secrets of an env file, and one for each other secret', async () => {
  const source = project({
    'compose.yaml': [
      'services:',
      '  a: {image: x, environment: {A_TOKEN: $A_TOKEN, B_TOKEN: $B_TOKEN, C_TOKEN: hunter2}, secrets: [s], env_file: e.env}',
      'secrets: {s: {file: ./s.key}}',
    ].join('\n'),
    ...{ '.env': 'A_TOKEN=abc\nB_TOKEN=def\n', 'e.env': 'D_TOKEN=ghi\n', 's.key': 'k' },
  });
  const { stdout } = await bring(source);
  const set = '  deployctl secret set eu-1';
  const lines = stdout.split('\n').filter((line) => line.startsWith(set));
  expect(lines.toSorted()).toEqual([
    `${set} shop-a-token=A_TOKEN shop-b-token=B_TOKEN --from-env-file ${join(source, '.env')}`,
    `${set} shop-c-token --field c_token   # C_TOKEN`,
    `${set} shop-d-token=D_TOKEN --from-env-file ${join(source, 'e.env')}`,
    `${set} shop-s --field s --from-file ${join(source, 's.key')}   # S`,
  ]);
});

it("applies the operator's decisions", async () => {
  const source = project({
    'a.yaml': 'services: {web: {build: ., command: "$T $U $V", profiles: [p]}}\n',
    'prod.env': 'V=1\n',
  });
  const decided = [
    '-f',
    'a.yaml',
    '--env-file',
    'prod.env',
    '--profile',
    'p',
    '--image',
    'web=r/x:1',
    '--variable',
    'T=a=b',
    '--secret',
    'U',
  ];
  expect(await bring(source, ...decided)).toMatchObject({ exit: 0 });
  const command = ['${T}', '${U}', '${V}'];
  expect(compose()).toEqual({ services: { web: { image: 'r/x:1', command, profiles: ['p'] } } });
  expect(compose('manifest.json')).toMatchObject({
    ...{ profiles: ['p'], variables: { T: 'a=b', V: '1' }, secrets: [{ var: 'U' }] },
  });
});

describe('the data of a running project', () => {
  const files = {
    'compose.yaml': [
      'name: My.Shop',
      'services: {db: {image: x, networks: [n], volumes: ["data:/data", "mem:/m", "own:/o", "./files:/files"]}}',
      'networks: {n: {}}',
      'volumes: {data: , mem: {driver_opts: {type: tmpfs, device: tmpfs}}, own: {name: own}}',
    ].join('\n'),
    'files/db.sqlite': '',
  };
  const bringWith = (script: string, ...more: string[]) => {
    writeFileSync(join(dir, 'docker'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    const args = ['--env', 'eu-1', '--out', join(dir, 'out'), '--compose', sharedEngine().compose, ...more];
    return deployctl(['bundle', 'import', project(files), ...args], { env: { PATH: dir } });
  };
  const copy = (from: string, name: string) =>
    `  docker run --rm -v ${from}:/from:ro -v deployd-eu-1_${name}:/to busybox cp -a /from/. /to/`;

  it.each([
    ['is copied by one command for each volume', 'echo myshop_data; echo myshop_n', '', true],
    ['is named where the engine does not have it', 'echo other', '   # myshop_data is not on this engine', false],
    ['is copied where no engine answers', 'exit 1', '', true],
  ])('%s', async (_, script, note, hasNetwork) => {
    const { stdout } = await bringWith(script);
    const lines = stdout.split('\n');
    const at = lines.findIndex((line) => line.startsWith('volumes that start empty: '));
    expect(lines.slice(at + 1, at + 4)).toEqual([
      `${copy('myshop_data', 'data')}${note}`,
      copy(join(dir, 'shop', 'files'), 'files'),
      '',
    ]);
    expect(lines.includes('  myshop_n is deployd-eu-1_n now')).toBe(hasNetwork);
  });

  it('stays in the volumes of the project by --keep-volumes, which a host must permit', async () => {
    const { stdout } = await bringWith('exit 1', '--keep-volumes', '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      permits: { volumes: ['myshop_data', 'own'] },
      renamed: [
        { kind: 'network', from: 'myshop_n', to: 'deployd-eu-1_n' },
        { kind: 'directory', from: join(dir, 'shop', 'files'), to: 'deployd-eu-1_files' },
      ],
    });
    expect(compose()).toMatchObject({ volumes: { data: { name: 'myshop_data', external: true } } });
  });
});

describe('the profiles of a project', () => {
  const profiled =
    'services: {web: {image: x}, debug: {image: y, profiles: [debug]}, tool: {image: z, profiles: [t]}}\n';

  it('are listed if none is chosen', async () => {
    const { exit, stdout } = await bring(project({ 'compose.yaml': profiled }));
    expect(exit).toBe(0);
    expect(stdout).toContain('\nprofiles that are not chosen (--profile NAME chooses one)\n  debug\n  t\n');
  });

  it.each([
    ['chosen by COMPOSE_PROFILES, as for compose', [], ['debug'], 'COMPOSE_PROFILES of .env'],
    ['chosen by --profile, as for compose instead of those', ['--profile', 't'], ['t'], '--profile'],
  ])('are %s', async (_title, options, profiles, by) => {
    const source = project({ 'compose.yaml': profiled, '.env': 'COMPOSE_PROFILES=debug\n' });
    const { exit, stdout } = await bring(source, ...options);
    expect(exit).toBe(0);
    expect(stdout).toContain(`\n  manifest: profiles: ${profiles.join()}: chosen by ${by}\n`);
    expect(compose('manifest.json')).toMatchObject({ profiles });
  });

  it('are left to decide when no service has one', async () => {
    const { exit, stdout } = await bring(project({ 'compose.yaml': profiled }), '--profile', 'debgu');
    expect(exit).toBe(1);
    expect(stdout).toContain('manifest: profiles: no service has the profile debgu → take it out of --profile');
  });
});

it('overwrites nothing, and writes nothing outside of its directory', async () => {
  const source = project(shop);
  mkdirSync(join(dir, 'out'));
  writeFileSync(join(dir, 'out', 'mine'), '');
  expect(await bring(source)).toMatchObject({ exit: 2, stderr: expect.stringContaining('FILE_EXISTS') as string });
  expect(readdirSync(join(dir, 'out'))).toEqual(['mine']);
  expect(readdirSync(dir).toSorted()).toEqual(['out', 'shop']);
});

it('leaves links that lead out of the project where they are', async () => {
  const source = project({
    'compose.yaml': 'services: {web: {image: x, volumes: ["./conf:/c:ro", "./p:/p"]}}\n',
    'conf/a.conf': '',
  });
  symlinkSync('/etc/passwd', join(source, 'conf', 'b.conf'));
  symlinkSync('/etc/passwd', join(source, 'p'));
  const { exit, stdout } = await bring(source);
  expect(exit).toBe(1);
  expect(stdout).toContain('conf/b.conf is a link that leads out of the project');
  expect(stdout).toContain('volumes: p is a link that leads out of the project');
  expect(readdirSync(join(dir, 'out', 'conf'))).toEqual(['a.conf']);
});

describe('the comparison by compose', () => {
  const marked = () => readFileSync(join(dir, 'out', '.deployd.unfinished'), 'utf8');
  const pack = () => deployctl(['bundle', 'pack', join(dir, 'out'), '--out', join(dir, 'x.tar.gz')]);

  it('marks a bundle that differs without a reported reason, until they are the same', async () => {
    const source = project({ 'compose.yaml': 'services: {web: {image: x, ports: [80], environment: {A: hunter2}}}\n' });
    expect(await bring(source)).toMatchObject({ exit: 0 });
    const file = join(dir, 'out', 'compose.yaml');
    const text = readFileSync(file, 'utf8');
    const ports = text.replace("- '80'", "- '80'\n      - '81'");
    writeFileSync(file, ports.replace('image: x', 'image: y').replace('hunter2', 'b'));
    const lines = [
      'service web: environment.A: differs from the project',
      'service web: image: is "x" in the project, "y" in the bundle',
      'service web: ports: {"mode":"ingress","target":81,"protocol":"tcp"} is only in the bundle',
    ];
    const { exit, stdout } = await bring(source, '--check', '--json');
    const { differences, ...rest } = JSON.parse(stdout) as { differences: unknown[] };
    expect([exit, differences.length, Object.keys(rest)]).toEqual([1, 3, ['directory']]);
    expect(marked().trim().split('\n').toSorted()).toEqual(lines);
    expect(await pack()).toMatchObject({ exit: 1, stderr: expect.stringContaining('IMPORT_UNFINISHED: ') as string });
    writeFileSync(file, text);
    expect(await bring(source, '--check')).toMatchObject({
      ...{ exit: 0, stdout: 'the bundle means the same as the project\n' },
    });
    expect(await pack()).toMatchObject({ exit: 0 });
  });

  it.each([
    ['none', 'no-such-program'],
    ['an old one', '2.19.9'],
  ])('needs a compose 2.20 or newer, not %s', async (_, version) => {
    const compose = join(dir, 'compose');
    if (version.startsWith('2')) writeFileSync(compose, `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
    const { exit, stderr } = await run(compose, project(shop));
    expect([exit, existsSync(join(dir, 'out'))]).toEqual([2, false]);
    expect(stderr).toMatch(/COMPOSE_MISSING: .*\n {2}→ install the plugin as https/);
  });

  it('checks only a bundle that was imported', async () => {
    expect(await bring(project(shop), '--check')).toMatchObject({
      ...{ exit: 2, stderr: expect.stringContaining('has no manifest') as string },
    });
  });
});

it.each<[string, Record<string, string>, string[], number, string]>([
  ['no compose file', { 'x.yaml': '' }, [], 1, 'SOURCE_INVALID: '],
  ['invalid YAML', { 'compose.yaml': 'services:\n\t- "hunter2"' }, [], 1, 'SOURCE_INVALID: '],
  ['an env that is not a name', shop, ['--env', 'EU'], 2, 'MANIFEST_INVALID: env: must be the name of an environment'],
  ['an image without a service', shop, ['--image', 'x'], 2, 'It must be SERVICE=REFERENCE'],
  ['a compose file that is missing', shop, ['-f', 'none.yaml'], 1, 'SOURCE_INVALID: compose cannot read the project'],
])('%s ends with its code, and nothing is made', async (_, files, more, exit, code) => {
  const outcome = await bring(project(files), ...more);
  expect(outcome).toMatchObject({ exit, stdout: '', stderr: expect.stringContaining(code) as string });
  expect(outcome.stderr).not.toContain('hunter2');
  expect(existsSync(join(dir, 'out'))).toBe(false);
});

it('ends where there is no project', async () => {
  expect(await bring(join(dir, 'none'))).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('FILE_UNREADABLE') as string,
  });
});
