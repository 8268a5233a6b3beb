import { mkdirSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BundleOptions, createBundle } from '../../../fixtures/world/bundles/bundle.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { unpack } from '../../bundle/archive/archive.ts';
import { archiveTasks } from './archiveTasks.ts';
import type { RunArchiveTask } from './archiveWorkers.ts';
import { repack } from './repackBundle.ts';

const parent = tempDir();
const limits = { bundle_bytes: 10_000_000, unpacked_bytes: 10_000_000, bundle_entries: 100 };
const { signal } = new AbortController();
const runArchiveTask: RunArchiveTask = (name, request) => archiveTasks[name](request as never, signal) as never;
const deps = { runArchiveTask };

function workplaceOf(options: BundleOptions) {
  const dir = mkdtempSync(join(parent, 'repack-'));
  const [file, into, scratchDir] = ['bundle', 'new', 'scratch'].map((name) => join(dir, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(file, createBundle(options).bytes);
  mkdirSync(scratchDir);
  return { file, into, scratchDir, signal };
}

async function contentsOf(file: string) {
  const into = mkdtempSync(join(parent, 'into-'));
  const { files, directories } = await unpack({ file, into, limits, signal });
  return { files: new Map(files.map(({ path, ...facts }) => [path, facts])), directories };
}

const options: BundleOptions = {
  compose: 'services:\n  web: {image: "app:1"} # ü\r\n',
  files: { 'bin/run': { body: '#!/bin/sh\n', mode: 0o755 }, 'conf/a.conf': '\0\x01', 'b ü': 'x' },
};

it.each([
  ['gzip', '1f8b'],
  ['zstd', '28b5'],
] as const)('changes only the manifest, and keeps %s', async (format, magic) => {
  const request = workplaceOf({ ...options, archive: { format } });
  const before = await contentsOf(request.file);
  const change = async (manifest: string) => manifest.replace('"sequence": 1', '"sequence": 12');
  const packed = await repack(deps, request, change);
  expect(packed!.sizeBytes).toBe(readFileSync(request.into).length);
  expect(readFileSync(request.into).toString('hex', 0, 2)).toBe(magic);
  const after = await contentsOf(request.into);
  const changed = [...after.files].filter(([path, { sha256 }]) => before.files.get(path)?.sha256 !== sha256);
  expect(changed.map(([path]) => path)).toEqual(['manifest.json']);
  expect(new Set(after.files.keys())).toEqual(new Set(before.files.keys()));
  expect(after.files.get('bin/run')).toEqual(before.files.get('bin/run'));
  expect(after.directories).toEqual(before.directories);
  const sizes = new Map(packed!.contents.files.map(({ path, size }) => [path, size]));
  expect(sizes).toEqual(new Map([...after.files].map(([path, { size }]) => [path, size])));
  expect(readdirSync(request.scratchDir)).toEqual([]);
});

it('packs the same archive for the same change', async () => {
  const [one, other] = [workplaceOf(options), workplaceOf(options)];
  const change = async (manifest: string) => `${manifest}\n`;
  expect(await repack(deps, one, change)).toEqual(await repack(deps, other, change));
});

it('packs nothing if there is no new manifest', async () => {
  const request = workplaceOf(options);
  expect(await repack(deps, request, async () => null)).toBeNull();
  expect([readdirSync(join(request.scratchDir, '..')).toSorted(), readdirSync(request.scratchDir)]).toEqual([
    ['bundle', 'scratch'],
    [],
  ]);
});

it('leaves no files behind after a failure', async () => {
  const request = workplaceOf({ ...options, archive: { truncatedBytes: 5 } });
  await expect(repack(deps, request, async () => '{}')).rejects.toThrow(
    'refused: BUNDLE_UNSAFE: the archive is damaged',
  );
  const sound = workplaceOf(options);
  await expect(repack(deps, sound, () => Promise.reject(new Error('enough')))).rejects.toThrow('enough');
  expect([...readdirSync(request.scratchDir), ...readdirSync(sound.scratchDir)]).toEqual([]);
});
