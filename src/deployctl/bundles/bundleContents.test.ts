import { execFileSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type BundleFile, createBundle } from '../../../fixtures/world/bundles/bundle.ts';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';

let at: ServiceWithOperators;
beforeAll(async () => {
  at = await startWithOperators();
  await at.admin.run('env create eu-1');
});
afterAll(() => at.stop());

const parent = tempDir();
const compose = 'services: {web: {image: "app:1", volumes: ["./conf:/conf:ro"]}}\n';
const manifest = {
  schema: 1,
  name: 'shop',
  env: 'eu-1',
  version: '1',
  sequence: 1,
  compose: ['compose.yaml'],
  secrets: [],
};
const bundle = { 'manifest.json': JSON.stringify(manifest), 'compose.yaml': compose, 'conf/app.conf': 'a=b\n' };
const pem = (type: 'pkcs1' | 'pkcs8') =>
  generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ type, format: 'pem' });
const key = pem('pkcs8');
const header = 'extraheader = AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46Z2hzX3NlY3JldA==\n';

async function write(dir: string, files: Record<string, string>): Promise<void> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), text);
  }
}

async function directoryOf(files: Record<string, string> = {}): Promise<string> {
  const dir = await mkdtemp(join(parent, 'shop-'));
  await write(dir, { ...bundle, ...files });
  return dir;
}

async function pack(dir: string) {
  const out = `${dir}.tar.gz`;
  const { exit, stdout, stderr } = await deployctl(['bundle', 'pack', dir, '--out', out, '--json']);
  if (exit !== 0) return { exit, stderr, names: [] as string[], json: {} as Record<string, unknown>, out };
  const names = execFileSync('tar', ['-tzf', out], { encoding: 'utf8' }).trim().split('\n').toSorted();
  return { exit, stderr, names, json: JSON.parse(stdout) as Record<string, unknown>, out };
}
const plainNames = ['compose.yaml', 'conf/', 'conf/app.conf', 'manifest.json'];

it('packs two clones of a commit into the same archive, without files that runners and people add', async () => {
  const origin = await directoryOf({ 'conf/run': '#!/bin/sh\n' });
  const script = `cd "$1" && chmod +x conf/run && git init -q && git add -A &&
    git -c user.name=a -c user.email=a@example.org commit -qm 1 &&
    (umask 077; git clone -q . "$1-one") && (umask 002; git clone -q . "$1-two")`;
  execFileSync('sh', ['-c', script, 'sh', origin]);
  const [one, two] = [`${origin}-one`, `${origin}-two`];
  await write(two, {
    ...{ '.git/config': header, 'sub/.GIT/config': header, '.env.production': 'DB_PASSWORD=geheim', '.Env': 'A=b' },
    ...{ 'node_modules/x/index.js': '', '.vscode/settings.json': '{}', 'conf/.DS_Store': '', 'conf/app.conf~': '' },
  });
  await symlink('x', join(two, 'node_modules/link'));
  await symlink('/tmp', join(two, 'conf/node_modules'));
  await symlink('/tmp', join(two, 'conf/.git'));
  const [first, second] = [await pack(one), await pack(two)];
  expect(first).toMatchObject({ exit: 0, stderr: '', names: [...plainNames, 'conf/run'].toSorted() });
  expect(second.json['sha256']).toBe(first.json['sha256']);
  const paths = [
    '.Env',
    '.env.production',
    '.git/',
    '.vscode/',
    'conf/.DS_Store',
    'conf/.git',
    'conf/app.conf~',
    'conf/node_modules',
    'node_modules/',
    'sub/.GIT/',
  ];
  const { left_out } = second.json as { left_out: { count: number; paths: string[] } };
  expect({ ...left_out, paths: left_out.paths.toSorted() }).toEqual({ count: paths.length, paths });
  const { stdout } = await deployctl(['bundle', 'pack', two, '--out', second.out]);
  expect(stdout).toMatch(/\nleft out +\S.*conf\/\.DS_Store/);
  expect(await at.deployer.json(['push', second.out])).toMatchObject({ warnings: [] });
});

it('shortens a long list of files that were left out', async () => {
  const dir = await directoryOf(Object.fromEntries(Array.from({ length: 1200 }, (_, n) => [`tmp/f${n}~`, ''])));
  const { json, out, names } = await pack(dir);
  expect(json).toMatchObject({ left_out: { count: 1200 } });
  expect((json as { left_out: { paths: string[] } }).left_out.paths).toHaveLength(1000);
  expect(names).toEqual(plainNames);
  const { stdout } = await deployctl(['bundle', 'pack', dir, '--out', out]);
  expect(stdout).toMatch(/~ and 1190 more\n/);
});

describe('an ignore file', () => {
  const names = (...more: string[]) => [...plainNames, '.deployignore', ...more].toSorted();

  it.each<[string, string, Record<string, string>, string[]]>([
    [
      'leaves out more',
      '# docs\n/docs/\n*.log\n',
      { 'docs/a': '', 'conf/x.log': '', 'conf/docs/b': '' },
      names('conf/docs/', 'conf/docs/b'),
    ],
    ['is sensitive to case', '*.LOG\n', { 'conf/x.log': '' }, names('conf/x.log')],
    [
      'keeps a directory',
      '!node_modules/\n',
      { 'node_modules/a/b.js': '' },
      names('node_modules/', 'node_modules/a/', 'node_modules/a/b.js'),
    ],
    ['keeps a file', '!.env.production\n', { 'conf/.env.production': 'A=b' }, names('conf/.env.production')],
    ['may leave itself out', '.deployignore\n', {}, plainNames],
    ['changes nothing below a directory', '', { 'conf/.deployignore': 'app.conf\n' }, names('conf/.deployignore')],
  ])('%s', async (_, text, files, expected) => {
    expect(await pack(await directoryOf({ '.deployignore': text, ...files }))).toMatchObject({
      exit: 0,
      names: expected,
    });
  });

  it.each([
    ['keeps a repository', '!.git\n', { '.git/config': header }, 'is a git repository'],
    ['keeps .env', '!.env\n', { '.env': 'A=b' }, 'is a .env file, which only the agent writes'],
    [
      'has patterns that would take very long',
      '#\na*a*a*a*a*b\n',
      {},
      'line 2 of .deployignore has more than 3 wildcards',
    ],
    ['has directory wildcards that would take very long', `${'**/'.repeat(9)}x\n`, {}, 'more than 3 wildcards'],
    ['is huge', 'a\n'.repeat(40_000), {}, '.deployignore is longer than 65536 bytes'],
  ])('is refused if it %s', async (_, text, files, fault) => {
    const packed = await pack(await directoryOf({ '.deployignore': text, ...files }));
    expect(packed).toMatchObject({ exit: 1, stderr: expect.stringContaining('BUNDLE_UNSAFE') as string });
    expect(packed.stderr).toContain(fault);
  });

  it('is not read through a link', async () => {
    const dir = await directoryOf();
    await symlink('/etc/hostname', join(dir, '.deployignore'));
    expect(await pack(dir)).toMatchObject({ exit: 1, stderr: expect.stringContaining('symbolic link') as string });
  });
});

it.each<[string, Record<string, string>, string, string]>([
  [
    'an env file',
    { 'compose.yaml': 'services: {web: {image: "app:1", env_file: .env.production}}\n', '.env.production': 'A=b\n' },
    '.env.production',
    'env_file .env.production is not in the bundle',
  ],
  [
    'a compose file',
    { '.deployignore': '*.yaml\n' },
    'compose.yaml',
    'compose names compose.yaml, which is not in the bundle',
  ],
])('refuses %s that is needed and left out, and says how to keep it', async (_what, files, path, fault) => {
  const { exit, stderr } = await pack(await directoryOf(files));
  expect({ exit, stderr }).toMatchObject({ exit: 1, stderr: expect.stringContaining(fault) as string });
  expect(stderr).toContain(`left out: ${path}; a line such as !/FILE in .deployignore keeps a file\n`);
});

describe('verify and push of an archive that holds', () => {
  let sequence = 10;

  it.each<[string, Record<string, BundleFile>, 'refused' | 'warned' | 'accepted', string]>([
    ['a repository', { '.git/config': header }, 'refused', '".git" is a git repository'],
    ['a repository below', { 'sub/.GIT/HEAD': 'ref: x' }, 'refused', '"sub/.GIT" is a git repository'],
    [
      'the file of a worktree or submodule',
      { 'sub/.git': 'gitdir: ../x' },
      'refused',
      '"sub/.git" is a git repository',
    ],
    ['an env file', { '.env.production': 'A=b' }, 'warned', '".env.production" does not belong into a bundle'],
    ['packages', { 'node_modules/a/b.js': '' }, 'warned', '"node_modules" does not belong into a bundle'],
    ['an example of an env file', { '.env.example': 'A=b' }, 'accepted', ''],
    ['a private key', { 'conf/k': key }, 'refused', '"conf/k" holds a private key'],
    ['a private key of the old form', { 'conf/k': pem('pkcs1') }, 'refused', 'holds a private key'],
    [
      'one with headers',
      { 'conf/k': key.replace('\n', '\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,A0\n\n') },
      'refused',
      'holds a private key',
    ],
    ['one in JSON', { 'conf/k.json': JSON.stringify({ private_key: key }) }, 'refused', 'holds a private key'],
    ['one in UTF-16', { 'conf/k': Buffer.from(`\ufeff${key}`, 'utf16le') }, 'refused', 'holds a private key'],
    ['one after other text', { 'conf/k': `${'# x\n'.repeat(9000)}${key}` }, 'refused', 'holds a private key'],
    ['one that is allowed by its path', { 'conf/k': key, '.deployignore': '!/conf/k\n' }, 'accepted', ''],
    ['one that is allowed by its name', { 'conf/k': key, '.deployignore': '!k\r\n' }, 'accepted', ''],
    [
      'one whose directory is allowed',
      { 'conf/k': key, '.deployignore': '!/conf/\n' },
      'refused',
      'holds a private key',
    ],
    ['one that a pattern allows', { 'conf/k': key, '.deployignore': '!*\n' }, 'refused', 'holds a private key'],
    ['a page about keys', { 'conf/a.md': 'Begin with -----BEGIN PRIVATE KEY-----.' }, 'accepted', ''],
    ['a token', { 'conf/a': `token: glpat-${'a1'.repeat(10)}` }, 'warned', '"conf/a" looks like a secret'],
    ['a token of a job', { 'conf/a': header }, 'warned', 'looks like a secret'],
    ['a token that is allowed', { 'conf/a': header, '.deployignore': '!conf/a' }, 'accepted', ''],
    ['a keystore', { 'conf/a.p12': 'x' }, 'warned', '"conf/a.p12" looks like a secret'],
    [
      'a pointer of Git LFS',
      { 'conf/a': 'version https://git-lfs.github.com/spec/v1\noid x\n' },
      'warned',
      'git lfs pull',
    ],
  ])('%s: %j is %s', async (_, files, verdict, text) => {
    const file = join(await mkdtemp(join(parent, 'archive-')), 'a.tar.gz');
    const content = { compose, files: { 'conf/app.conf': 'a=b\n', ...files } };
    await writeFile(file, createBundle({ name: 'shop', env: 'eu-1', sequence: sequence++, ...content }).bytes);
    const verified = await deployctl(['bundle', 'verify', file]);
    const pushed = await at.deployer.run(['push', file]);
    for (const { exit, stdout, stderr } of [verified, pushed]) {
      expect(exit).toBe(verdict === 'refused' ? 1 : 0);
      expect(verdict === 'refused' ? stderr : stdout).toContain(text);
      if (verdict === 'refused') expect(stderr).toContain('BUNDLE_UNSAFE');
      if (verdict === 'accepted') expect(stdout).not.toMatch(/looks like|does not belong|warning/);
      expect(stdout + stderr).not.toMatch(/MII|glpat-|eC1hY2Nl/);
    }
  });
});
