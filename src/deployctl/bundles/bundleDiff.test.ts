import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';

const parent = tempDir();
const base = {
  ...{ schema: 1, name: 'shop', env: 'eu-1', version: '1', sequence: 1, compose: ['compose.yaml'], secrets: [] },
};

/** A directory with the files of a bundle. */
async function bundle(manifest: object = {}, compose = 'services: {web: {image: "app:${TAG}"}}\n'): Promise<string> {
  const dir = join(await mkdtemp(join(parent, 'work-')), 'shop');
  await mkdir(dir);
  await writeFile(join(dir, 'manifest.json'), JSON.stringify({ ...base, variables: { TAG: '1' }, ...manifest }));
  await writeFile(join(dir, 'compose.yaml'), compose);
  return dir;
}

const diff = (...places: string[]) => deployctl(['bundle', 'diff', ...places]);

it('shows the differences between two directories, also of bundles that a host would refuse', async () => {
  const before = await bundle();
  const after = await bundle({ variables: { TAG: '2' } }, 'services: {web: {image: "app:${TAG}", privileged: true}}\n');
  const { exit, stdout, stderr } = await diff(before, after);
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  expect(stdout.split('\n').map((line) => line.trim())).toEqual([
    'the bundles differ',
    'before      shop 1, sequence 1, for environment eu-1',
    'after       shop 1, sequence 1, for environment eu-1',
    expect.stringMatching(
      /^privileges {2}\+ service web: privileged true \(compose.yaml\): permit it by policy: \{permit: /,
    ),
    'services    ~ web',
    '~ image: app:1 → app:2',
    '+ privileged: true',
    'images      - app:1',
    '+ app:2',
    'variables   ~ TAG: 1 → 2',
    'files       ~ compose.yaml',
    '~ manifest.json',
    '',
  ]);
  const { stdout: json } = await diff(before, after, '--json');
  expect(JSON.parse(json)).toMatchObject({
    same_content: false,
    variables: [{ key: 'TAG', before: '1', after: '2' }],
  });
});

it('reports that two archives differ only in their packing, and are equal to their directory', async () => {
  const dir = await bundle();
  const [packed, other] = [`${dir}.tar.gz`, `${dir}.tar`];
  expect((await deployctl(['bundle', 'pack', dir, '--out', packed])).exit).toBe(0);
  execFileSync('tar', ['--create', '--zstd', '--file', other, 'compose.yaml', 'manifest.json'], { cwd: dir });
  const headline = async (...places: string[]) => (await diff(...places)).stdout.split('\n')[0];
  expect(await headline(packed, other)).toBe('the same files, packed in another way');
  expect(await headline(packed, packed)).toBe('nothing differs');
  expect(await headline(dir, packed)).toBe('nothing differs');
});

it.each<[string, object, string | undefined, string]>([
  ['manifest cannot be used', { schema: 2 }, undefined, 'MANIFEST_INVALID: schema: must be 1'],
  ['compose file is missing', { compose: ['b.yaml'] }, undefined, 'MANIFEST_INVALID: compose names b.yaml'],
  ['compose file is not YAML', {}, 'services: [', 'COMPOSE_REFUSED: '],
])('fails if a %s', async (_title, manifest, compose, message) => {
  const { exit, stdout, stderr } = await diff(await bundle(), await bundle(manifest, compose));
  expect({ exit, stdout }).toEqual({ exit: 1, stdout: '' });
  expect(stderr).toContain(message);
});

it('fails if a bundle is missing', async () => {
  expect(await diff(await bundle(), join(parent, 'none'))).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('FILE_UNREADABLE') as string,
  });
});
