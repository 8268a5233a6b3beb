import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { useOwnTmpDir } from '../../../fixtures/ownTmpDir.ts';
import { tempDir } from '../../../fixtures/tempDir.ts';
import { createBundle, type BundleOptions } from '../../../fixtures/bundles/bundle.ts';
import { mergeDefaults } from '../../config/defaults.ts';
import { configTable } from '../config/configKeys.ts';
import type { Settings } from '../config/settings.ts';
import type { Plan } from '../../bundle/rules/plan/plan.ts';
import { emptyState } from '../rules/state/state.ts';
import { plan } from './plan.ts';

let dir: string;
let results: string[];
let errors: string[];
beforeEach(() => {
  dir = tempDir();
  [results, errors] = [[], []];
});
useOwnTmpDir();

const web = { services: { web: { image: 'app:1', volumes: ['data:/data'] } }, volumes: { data: {} } };

describe('without configuration', () => {
  it('a valid bundle is not refused, and checks that did not run are listed', async () => {
    const { sha } = await bundle({ compose: web });
    expect(await run()).toBe(0);
    const lines = results.join('\n').split('\n');
    expect(lines.slice(0, 3)).toEqual([
      'nothing is refused',
      '  bundle      shop 2026.11.21-1, sequence 1, for env eu-1',
      `              ${sha}`,
    ]);
    expect(lines.at(-1)).toMatch(/VOLUME_DIVERGED, DISK_INSUFFICIENT: there is no configuration/);
    expect(errors).toEqual([]);
  });

  it('a bundle is validated for the env that its manifest names', async () => {
    await bundle({ env: 'de-7', compose: { ...web, name: 'deployd-de-7' } });
    expect(await run()).toBe(0);
  });

  it.each<[string, BundleOptions, string[]]>([
    [
      'everything that the policy refuses, in order,',
      {
        compose: { services: { web: { privileged: true, build: '.', environment: { A: '${A}' } } } },
        secrets: [{ var: 'B', path: 'x', field: 'f' }],
      },
      ['SECRET_PATH_REFUSED', 'ENV_INCOMPLETE', 'COMPOSE_REFUSED', 'PRIVILEGED_REFUSED'],
    ],
    ['broken YAML', { compose: 'services: {' }, ['COMPOSE_REFUSED']],
    ['a manifest that is no JSON', { manifestText: '{' }, ['MANIFEST_INVALID']],
    ['a manifest that is missing', { manifestText: null }, ['MANIFEST_INVALID']],
    ['a manifest that is a directory', { manifestText: null, files: { 'manifest.json/x': 'x' } }, ['MANIFEST_INVALID']],
    ['an invalid env', { env: 'EU' }, ['MANIFEST_INVALID']],
    [
      'compose files that are missing',
      { compose: web, manifest: { compose: ['a.yaml', 'b.yaml'] } },
      ['MANIFEST_INVALID'],
    ],
    ['a compose file with an endless name', { manifest: { compose: ['x'.repeat(999)] } }, ['MANIFEST_INVALID']],
    [
      'a label file with an impossible name',
      { compose: { services: { web: { image: 'b', label_file: 'a\0b' } } } },
      ['COMPOSE_REFUSED'],
    ],
    [
      'compose files that are too long together',
      {
        manifest: { compose: ['a.yaml', 'b.yaml'] },
        files: { 'a.yaml': 'x-a: 1\n# '.padEnd(300_000, '.'), 'b.yaml': '# '.padEnd(300_000, '.') },
      },
      ['COMPOSE_REFUSED'],
    ],
    ['traversal', { entries: [{ name: '../evil', body: 'x' }] }, ['BUNDLE_UNSAFE']],
    ['a link', { entries: [{ name: 'l', type: 'symlink', link: '/etc' }] }, ['BUNDLE_UNSAFE']],
    ['a .env', { files: { '.env': 'A=1' } }, ['BUNDLE_UNSAFE']],
    ['a damaged archive', { archive: { truncatedBytes: 20 } }, ['BUNDLE_UNSAFE']],
    ['an uncompressed archive', { archive: { format: 'tar' } }, ['BUNDLE_UNSAFE']],
  ])('%s is refused', async (_title, parts, codes) => {
    await bundle(parts);
    expect(await run(null, true)).toBe(1);
    expect(printedPlan().refusals.map(({ code }) => code)).toEqual(codes);
  });

  it('an invalid compose file has no further refusals', async () => {
    await bundle({ compose: 'services: {' });
    await run(null, true);
    expect(printedPlan().refusals.map(({ detail }) => detail)).toEqual([expect.not.stringContaining('has a service')]);
  });

  it('every missing compose file is named', async () => {
    await bundle({ compose: web, manifest: { compose: ['a.yaml', 'b.yaml'] } });
    expect(await run()).toBe(1);
    expect(results.join('\n').split('\n')[0]).toBe(
      'refused: MANIFEST_INVALID: compose names a.yaml, which is not in the bundle: pack it, or leave it out; compose names b.yaml, which is not in the bundle: pack it, or leave it out',
    );
  });

  it('the flags of the manifest allow what they allow in a tick', async () => {
    await bundle({ compose: { services: { web: { privileged: true } } }, agent: { allow_privileged: true } });
    expect(await run()).toBe(0);
  });

  it.each<[string, object, RegExp]>([
    ['a compose file', { services: { web: {} }, 'x-a': 'x'.repeat(2_000_000) }, /524288 characters/],
    ['a label file', { services: { web: { label_file: 'labels' } } }, /label_file labels could not be read/],
  ])('%s that is too long is refused', async (_title, compose, words) => {
    await bundle({ compose, files: { labels: 'a=b\n'.repeat(500_000) } });
    expect(await run(null, true)).toBe(1);
    expect(printedPlan().refusals).toMatchObject([
      { code: 'COMPOSE_REFUSED', detail: expect.stringMatching(words) as string },
    ]);
  });

  it('a missing bundle is an error, not a refusal', async () => {
    expect(await run()).toBe(1);
    expect(results).toEqual([]);
    expect(errors).toEqual([`failed: cannot read ${join(dir, 'bundle')}: no such file or directory`]);
  });
});

describe('a directory', () => {
  it('is validated like an archive and not changed', async () => {
    await directory({ 'manifest.json': manifest({}), 'compose.yaml': 'services: {web: {privileged: true}}' });
    const before = await readdir(join(dir, 'bundle'), { recursive: true });
    expect(await run(null, true)).toBe(1);
    expect(printedPlan()).toMatchObject({ sha: null, refusals: [{ code: 'PRIVILEGED_REFUSED' }] });
    expect(await readdir(join(dir, 'bundle'), { recursive: true })).toEqual(before);
  });

  it('may contain subdirectories', async () => {
    const compose = JSON.stringify({ services: { web: { volumes: ['./conf/a:/a:ro'] } } });
    await directory({ 'manifest.json': manifest({}), 'compose.yaml': compose, 'conf/a/b': '1', 'conf/a/c': '2' });
    expect(await run()).toBe(0);
  });

  it.each<[string, () => Promise<unknown>, string]>([
    ['a link', () => symlink('/etc/passwd', join(dir, 'bundle', 'l')), '"l" is a symbolic link'],
    ['a .env', () => writeFile(join(dir, 'bundle', '.env'), 'A=1'), '".env" is a .env file'],
    ['names that differ only in case', () => writeFile(join(dir, 'bundle', 'Compose.yaml'), ''), 'collides with'],
    ['a setuid file', () => chmod(join(dir, 'bundle', 'compose.yaml'), 0o4755), 'setuid'],
  ])('must not contain %s', async (_title, addFile, words) => {
    await directory({ 'manifest.json': manifest({}), 'compose.yaml': 'services: {web: {}}' });
    await addFile();
    expect(await run(null, true)).toBe(1);
    expect(printedPlan().refusals).toEqual([
      {
        code: 'BUNDLE_UNSAFE',
        detail: expect.stringContaining(words) as string,
        faults: [
          { text: expect.stringContaining(words) as string, cure: expect.stringMatching(/^[a-z].*[a-z)]$/) as string },
        ],
      },
    ]);
  });
});

describe('with configuration', () => {
  const settings = (changes: object = {}) =>
    ({
      ...mergeDefaults(configTable, {
        env: 'eu-1',
        state_dir: join(dir, 'state'),
        container_host: `unix://${dir}/no.sock`,
      }),
      ...changes,
    }) as unknown as Settings;

  it('without an engine every check that needs none runs, and nothing is created', async () => {
    await bundle({ compose: web, sequence: 0 });
    expect(await run(settings(), true)).toBe(0);
    const { not_judged, volumes, services, images } = printedPlan();
    expect(not_judged.at(-1)?.codes).toEqual(['VOLUME_DIVERGED', 'DISK_INSUFFICIENT']);
    expect(not_judged.at(-1)?.why).toMatch(/no such socket/);
    expect(volumes).toEqual([{ name: 'deployd-eu-1_data', change: 'unknown' }]);
    expect([...services, ...images].map(({ change }) => change)).toEqual(['new', 'new']);
    expect(await readdir(dir)).toEqual(expect.not.arrayContaining(['state']));
  });

  it('a bundle of another env is refused', async () => {
    await bundle({ env: 'eu-2' });
    expect(await run(settings())).toBe(1);
    expect(results[0]).toContain("refused: MANIFEST_INVALID: env: must be eu-1, this host's env");
  });

  it('a rollback is refused, and the state is not changed', async () => {
    await writeState({ ...emptyState('eu-1'), highest_sequence: 7 });
    await bundle({ compose: web, sequence: 6 });
    expect(await run(settings(), true)).toBe(1);
    expect(printedPlan().refusals.map(({ code }) => code)).toEqual(['ROLLBACK_REFUSED']);
    expect(await readdir(join(dir, 'state'))).toEqual(['state.json']);
  });

  it.each<[string, object | string, RegExp]>([
    ['corrupt', '{', /no JSON object/],
    ['of another env', emptyState('eu-9'), /belongs to env eu-9/],
  ])('a state that is %s is reported and not used', async (_title, state, why) => {
    await writeState(state);
    await bundle({ compose: web });
    expect(await run(settings(), true)).toBe(0);
    const skipped = printedPlan().not_judged.find(({ codes }) => codes.includes('ROLLBACK_REFUSED'));
    expect(skipped?.why).toMatch(why);
    expect(await readdir(join(dir, 'state'))).toEqual(['state.json']);
  });

  it('the limits of the configuration apply', async () => {
    await bundle({ compose: web, files: { a: '1' } });
    const limits = { bundle_bytes: 10_000, unpacked_bytes: 10_000, bundle_entries: 2 };
    expect(await run(settings({ limits }))).toBe(1);
    expect(results[0]).toMatch(/^refused: BUNDLE_UNSAFE: more than 2 files and directories/);
  });
});

async function bundle(parts: BundleOptions) {
  const created = createBundle({ compose: web, ...parts });
  await writeFile(join(dir, 'bundle'), created.bytes);
  return created;
}

function manifest(changes: Record<string, unknown>): string {
  return JSON.stringify(createBundle({ compose: web, manifest: changes }).manifest);
}

async function directory(files: Record<string, string>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    const path = join(dir, 'bundle', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

async function writeState(state: object | string): Promise<void> {
  await mkdir(join(dir, 'state'));
  await writeFile(join(dir, 'state', 'state.json'), typeof state === 'string' ? state : JSON.stringify(state));
}

function printedPlan(): Plan {
  return JSON.parse(results.join('\n')) as Plan;
}

function run(settings: Settings | null = null, json = false): Promise<number> {
  const out = { log: (line: string) => void results.push(line), error: (line: string) => void errors.push(line) };
  return plan(settings, { bundle: join(dir, 'bundle'), json, signal: new AbortController().signal }, out);
}
