import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BundleOptions, createBundle } from '../../../fixtures/world/bundles/bundle.ts';
import { useOwnTmpDir } from '../../../fixtures/world/ownTmpDir.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import type { BundleDiff } from '../../bundle/bundleDiff.rules.ts';
import { mergeDefaults } from '../../core/config/keyTable.ts';
import { unpainted } from '../../core/text.rules.ts';
import { configTable, type Settings } from '../config/configKeys.ts';
import type { Terminal } from '../journal/terminal.ts';
import { renderEnvFile } from '../secrets/envFile.rules.ts';
import { Vault } from '../secrets/vault.ts';
import { emptyState, type State } from '../state/state.rules.ts';
import { diff } from './diff.ts';

let dir: string;
let results: string[];
let errors: string[];
beforeEach(() => {
  dir = tempDir();
  [results, errors] = [[], []];
});
useOwnTmpDir();

const out = { log: (line: string) => void results.push(line), error: (line: string) => void errors.push(line) };
const { signal: closed } = new AbortController();
const terminal: Terminal = { isInteractive: true, paint: unpainted, closed, show: async (text) => out.log(text) };

async function run({ bundle, json = false }: { bundle?: string; json?: boolean } = {}): Promise<number> {
  const config = {
    env: 'eu-1',
    state_dir: dir,
    tenancy_url: 'https://t.example',
    secretstore_url: 'https://s.example',
  };
  const settings = mergeDefaults(configTable, config) as unknown as Settings;
  return diff(settings, { bundle, json, vault: new Vault(), signal: new AbortController().signal }, { terminal, out });
}

/** A bundle whose archive is on the host. */
async function onHost(options: BundleOptions): Promise<string> {
  const { sha, bytes } = createBundle(options);
  await mkdir(join(dir, 'eu-1', 'bundles'), { recursive: true });
  await writeFile(join(dir, 'eu-1', 'bundles', sha), bytes);
  return sha;
}

async function withState(
  applied_sha: string | null,
  desired_sha: string | null,
  more: Partial<State> = {},
): Promise<void> {
  const last_check_in = { at: '2026-11-26T12:00:00.000Z', action: 'apply', desired_sha } as const;
  await writeFile(
    join(dir, 'state.json'),
    JSON.stringify({ ...emptyState('eu-1'), applied_sha, last_check_in, ...more }),
  );
}

/** A release with its `.env`. */
async function release(sha: string, env: string): Promise<void> {
  await mkdir(join(dir, 'eu-1', 'releases', sha), { recursive: true });
  await writeFile(join(dir, 'eu-1', 'releases', sha, '.env'), env);
}

const web = (image: string, more: object = {}) => ({ compose: { services: { web: { image, ...more } } } });

it('shows how the desired bundle differs from the applied one', async () => {
  await withState(await onHost(web('app:1')), await onHost(web('app:2')));
  expect([await run(), await run({ json: true })]).toEqual([1, 1]);
  expect(results[0]).toMatch(/^the bundles differ\n[^]* {2}~ web\n +~ image: app:1 → app:2\n/);
  expect(JSON.parse(results[1] ?? '')).toMatchObject({
    ...{ same_content: false, images: [{ before: 'app:1' }, { after: 'app:2' }] },
  });
});

it('reports that nothing differs', async () => {
  const sha = await onHost(web('app:1'));
  await withState(sha, sha);
  expect(await run()).toBe(0);
  expect(results[0]).toMatch(/^nothing differs\n/);
});

it('compares with another bundle', async () => {
  await withState(await onHost(web('app:1')), null);
  const { bytes } = createBundle(web('app:3'));
  await writeFile(join(dir, 'other'), bytes);
  expect(await run({ bundle: join(dir, 'other') })).toBe(1);
  expect(results[0]).toContain('app:1 → app:3');
});

it('shows no value of a release, wherever it was written', async () => {
  const secret = 'hunter"2\nhunter';
  const applied = await onHost(web('app:1', { environment: { A: secret } }));
  await withState(applied, await onHost(web('app:1', { environment: { A: 'other', B: `x ${secret} y` } })));
  await release(applied, renderEnvFile(new Map([['PASSWORD', secret]])));
  expect([await run(), await run({ json: true })]).toEqual([1, 1]);
  const { services } = JSON.parse(results[1] ?? '') as BundleDiff;
  expect(services[0]?.keys).toEqual([
    { key: 'environment.A', before: '[REDACTED]', after: 'other' },
    { key: 'environment.B', before: null, after: 'x [REDACTED] y' },
  ]);
  expect(results.join('')).not.toContain('hunter');
});

it('shows nothing when it cannot know what is secret', async () => {
  const sha = await onHost(web('app:1'));
  await withState(sha, sha);
  await release(sha, 'PASSWORD=x');
  expect(await run()).toBe(1);
  expect([results, errors]).toEqual([[], [expect.stringMatching(/^RELEASE_INCOMPLETE: the \.env of release /)]]);
});

const other = 'b'.repeat(64);
it.each<[string, () => Promise<void>, RegExp]>([
  ['nothing is applied', () => withState(null, other), /^nothing is applied on this host/],
  ['there is no state', async () => undefined, /^nothing is applied/],
  ['the state is of another env', () => withState(other, other, { env: 'eu-2' }), /^nothing is applied/],
  ['the state is damaged', () => writeFile(join(dir, 'state.json'), '{'), /^STATE_CORRUPT: /],
  ['nothing is desired', async () => withState(await onHost(web('a')), null), /^no bundle is desired/],
  [
    'the project is to go',
    async () => {
      const last_check_in = { at: '2026-11-26T12:00:00.000Z', action: 'down', desired_sha: null } as const;
      await withState(await onHost(web('a')), null, { last_check_in });
    },
    /^the desired state is that the project is down$/,
  ],
  [
    'the desired bundle is not there yet',
    async () => withState(await onHost(web('a')), other),
    /^the desired bundle b+ is not on this host; deployctl bundle fetch b{12} gets it, deployd diff FILE compares it$/,
  ],
  ['the applied one is gone', () => withState(other, other), /^the applied bundle b+ is not on this host$/],
  [
    'the desired one cannot be read',
    async () => withState(await onHost(web('a')), await onHost({ manifestText: '{' })),
    /^refused: MANIFEST_INVALID: /,
  ],
  [
    'its compose file cannot be read',
    async () => withState(await onHost(web('a')), await onHost({ compose: 'services: {' })),
    /^refused: COMPOSE_REFUSED: /,
  ],
])('exits 1 when %s', async (_when, prepare, error) => {
  await prepare();
  expect(await run()).toBe(1);
  expect([results, errors[0]]).toEqual([[], expect.stringMatching(error)]);
});
