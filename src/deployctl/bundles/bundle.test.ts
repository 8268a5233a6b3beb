import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { startScriptedApi } from '../../../fixtures/world/ctl/scriptedApi.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';

let at: ServiceWithOperators;
beforeAll(async () => {
  at = await startWithOperators();
  await at.admin.run('env create eu-1');
  await at.admin.run('env create us-1');
});
afterAll(() => at.stop());

const parent = tempDir();
const base = {
  schema: 1,
  name: 'shop',
  env: 'eu-1',
  version: '1',
  sequence: 1,
  compose: ['compose.yaml'],
  secrets: [],
};

/** A directory with the files of a bundle. */
async function shop(manifest: object = {}, compose = 'services: {web: {image: "app:1"}}\n') {
  const dir = join(await mkdtemp(join(parent, 'work-')), 'shop');
  await mkdir(dir);
  await writeFile(join(dir, 'manifest.json'), JSON.stringify({ ...base, ...manifest }));
  await writeFile(join(dir, 'compose.yaml'), compose);
  return { dir, out: join(dir, '..', 'shop.tar.gz') };
}
const pack = ({ dir, out }: { dir: string; out: string }, ...more: string[]) =>
  at.deployer.json(['bundle', 'pack', dir, '--out', out, ...more]);
const refused = 'services: {web: {image: "app:1", privileged: true, build: .}}\n';

it('packs a directory, always into the same archive, which the service accepts', async () => {
  const [one, other] = [await shop({ sequence: 1 }), await shop({ sequence: 1 })];
  const packed = await pack(one);
  expect(packed).toMatchObject({ file: one.out, env: 'eu-1', name: 'shop', version: '1', sequence: 1 });
  expect(await pack(one)).toEqual(packed);
  expect((await pack(other))['sha256']).toBe(packed['sha256']);
  expect((await readdir(join(one.dir, '..'))).toSorted()).toEqual(['shop', 'shop.tar.gz']);
  expect(await at.deployer.json(['push', one.out])).toMatchObject({ sha256: packed['sha256'], warnings: [] });
});

/** The digest of a tree that processes with this umask and environment create, in this order of files, and pack. */
function packedBy(umask: string, order: string, env: NodeJS.ProcessEnv): string {
  const cli = fileURLToPath(new URL('../cli.ts', import.meta.url));
  const script = `umask ${umask}
    mkdir -p shop/conf/empty && cd shop
    for file in ${order}; do printf '%s\n' "$file" >"$file"; done
    printf '%s' '${JSON.stringify(base)}' >manifest.json
    echo 'services: {web: {image: "app:1"}}' >compose.yaml
    chmod u+x conf/run
    exec "$0" "$1" bundle pack . --out ../out.tar.gz --json`;
  const cwd = mkdtempSync(join(parent, 'tree-'));
  const output = execFileSync('sh', ['-c', script, process.execPath, cli], { cwd, env, encoding: 'utf8' });
  return (JSON.parse(output) as { sha256: string }).sha256;
}

it('packs the same archive with another umask, locale, time zone, home and order of the files', () => {
  const names = ['conf/run', 'conf/Z', 'conf/a', 'conf/ä', 'conf/i', 'z'];
  const plain = packedBy('022', names.join(' '), { PATH: '/usr/bin:/bin' });
  const other = { PATH: '/bin:/usr/bin', LC_ALL: 'tr_TR.UTF-8', LANG: 'sv_SE.UTF-8', TZ: 'Asia/Tokyo', HOME: parent };
  expect(packedBy('077', names.toReversed().join(' '), other)).toBe(plain);
  expect(packedBy('022', names.slice(0, -1).join(' '), { PATH: '/usr/bin:/bin' })).not.toBe(plain);
});

it('takes the next sequence of the environment each time, and does not change the directory', async () => {
  const work = await shop({ env: 'us-1' });
  const before = await readFile(join(work.dir, 'manifest.json'), 'utf8');
  for (const sequence of [1, 2]) {
    const packed = await pack(work, '--next');
    expect(packed).toMatchObject({ sequence, env: 'us-1' });
    expect(await at.deployer.json(['push', work.out])).toMatchObject({ sequence, sha256: packed['sha256'] });
  }
  expect(await readFile(join(work.dir, 'manifest.json'), 'utf8')).toBe(before);
});

it('prints digest and file', async () => {
  const { dir, out } = await shop();
  const { stdout } = await at.deployer.run(['bundle', 'pack', dir, '--out', out]);
  expect(stdout).toMatch(
    /^bundle {2}shop 1, sequence 1, for environment eu-1\nsha256 {2}[0-9a-f]{64}\nbytes {3}\d+\nfile {4}\//,
  );
});

it('verifies a directory and an archive without a service', async () => {
  const work = await shop();
  await pack(work);
  for (const place of [work.dir, work.out]) {
    const { exit, stdout, stderr } = await deployctl(['bundle', 'verify', place]);
    expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
    expect(stdout).toMatch(/^nothing is refused\n {2}bundle +shop 1, sequence 1, for environment eu-1\n/);
  }
});

it.each(['verify', 'pack'])('%s prints every refusal with its cure, and packs nothing', async (command) => {
  const { dir } = await shop({}, refused);
  const { exit, stdout, stderr } = await deployctl(['bundle', command, dir]);
  expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
  expect(stderr).toMatch(
    /^deployctl: COMPOSE_REFUSED: .*\n {2}refused: COMPOSE_REFUSED: .*\n {4}→ .*\n {2}refused: PRIVILEGED_REFUSED: .*\n {4}→ /,
  );
  expect(await readdir(join(dir, '..'))).toEqual(['shop']);
});

it('reserves no sequence for a refused bundle', async () => {
  const work = await shop({ env: 'us-1' }, refused);
  const before = await at.admin.json('env show us-1');
  expect((await at.deployer.run(['bundle', 'pack', work.dir, '--out', work.out, '--next'])).exit).toBe(1);
  expect(await at.admin.json('env show us-1')).toEqual(before);
});

it.each([2 ** 47 + 1, 0, 1.5, '7', undefined])('packs nothing if the service reserves %s', async (sequence) => {
  const api = await startScriptedApi(() => ({ status: 200, body: { sequence } }));
  const work = await shop();
  const outcome = await deployctl(['bundle', 'pack', work.dir, '--out', work.out, '--next'], { env: api.home.env });
  await api.stop();
  expect(outcome).toMatchObject({ exit: 1, stderr: expect.stringContaining('PROTOCOL_INVALID') as string });
  expect(await readdir(join(work.dir, '..'))).toEqual(['shop']);
});

it('a link is refused', async () => {
  const { dir } = await shop();
  await symlink('/etc/passwd', join(dir, 'link'));
  expect(await deployctl(['bundle', 'verify', dir])).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('BUNDLE_UNSAFE: "link" is a symbolic link') as string,
  });
});

it.each<[string, (work: { dir: string; out: string }) => string[], number, string]>([
  ['no directory', ({ out }) => ['pack', out, '--out', `${out}2`], 1, 'FILE_UNREADABLE'],
  ['a file', ({ dir, out }) => ['pack', join(dir, 'compose.yaml'), '--out', out], 2, 'DIRECTORY_INVALID'],
  [
    'an archive in the directory itself',
    ({ dir }) => ['pack', dir, '--out', join(dir, 'shop.tar.gz')],
    2,
    'OUT_INVALID',
  ],
  ['an archive in no directory', ({ dir, out }) => ['pack', dir, '--out', join(out, 'x')], 1, 'FILE_UNWRITABLE'],
  ['an archive in place of a directory', ({ dir }) => ['pack', dir, '--out', join(dir, '..')], 1, 'FILE_UNWRITABLE'],
  ['nothing to verify', ({ out }) => ['verify', out], 1, 'FILE_UNREADABLE'],
])('%s ends with its code', async (_, args, exit, code) => {
  const work = await shop();
  const outcome = await deployctl(['bundle', ...args(work)]);
  expect(outcome).toMatchObject({
    exit,
    stdout: '',
    stderr: expect.stringContaining(`deployctl: ${code}: `) as string,
  });
  expect(await readdir(join(work.dir, '..'))).toEqual(['shop']);
});

it('an env that the token is not for gives no sequence', async () => {
  const work = await shop({ env: 'us-1' });
  const outcome = await at.limited.run(['bundle', 'pack', work.dir, '--out', work.out, '--next']);
  expect(outcome).toMatchObject({ exit: 1, stderr: expect.stringContaining('ENV_NOT_FOUND') as string });
});

describe('with the policy of a host', () => {
  const compose = 'services: {web: {image: "app:1", cap_add: [NET_ADMIN]}}\n';
  const withPolicy = async (text: string) => {
    const work = await shop({}, compose);
    const policy = join(work.dir, '..', 'policy.yaml');
    await writeFile(policy, text);
    return { ...work, policy };
  };

  it('verify and pack take what it permits', async () => {
    const work = await withPolicy('policy: {permit: {capabilities: [NET_ADMIN]}}\n');
    expect(await deployctl(['bundle', 'verify', work.dir])).toMatchObject({ exit: 1 });
    expect(await deployctl(['bundle', 'verify', work.dir, '--policy', work.policy])).toMatchObject({ exit: 0 });
    expect(await deployctl(['bundle', 'pack', work.dir, '--out', work.out])).toMatchObject({ exit: 1 });
    expect(await pack(work, '--policy', work.policy)).toMatchObject({ file: work.out });
  });

  it('reports an invalid one with its line, and packs nothing', async () => {
    const { dir, out, policy } = await withPolicy('policy:\n  permit: {capabilities: [ALL]}\n');
    const { exit, stderr } = await deployctl(['bundle', 'pack', dir, '--out', out, '--policy', policy]);
    expect({ exit, stderr }).toEqual({
      exit: 2,
      stderr: expect.stringMatching(/^deployctl: CONFIG_INVALID: .*policy\.yaml:2: .*policy\.permit/) as string,
    });
    expect(await readdir(join(dir, '..'))).not.toContain('shop.tar.gz');
  });
});
