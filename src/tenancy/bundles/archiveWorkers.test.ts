import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { bundleOptions } from '../../../deb/bundle.ts';
import { bundleWorker } from '../../../deb/program/plugins.ts';
import { createPushScene } from '../../../fixtures/suites/tenancy/api/pushScene.ts';
import { type Bundle, type BundleOptions, createBundle } from '../../../fixtures/world/bundles/bundle.ts';
import { addOperator } from '../../../fixtures/world/tenancy/operatorClient.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { startService } from '../../../fixtures/world/tenancy/service.ts';
import { defaultPolicy } from '../../api/hostPolicy.rules.ts';
import { archiveTasks, type HostKind } from './archiveTasks.ts';
import { type ArchiveWorkers, createArchiveWorkers, type RunArchiveTask, type ThreadLimits } from './archiveWorkers.ts';

const limits = { bundle_bytes: 10_000_000, unpacked_bytes: 10_000_000, bundle_entries: 100 };
const { signal } = new AbortController();
const timeMs = { unpack: 60_000, read: 60_000, judge: 60_000, search: 60_000, compare: 60_000, pack: 60_000 };
const hosts: HostKind[] = [{ policy: defaultPolicy, orchestrator: 'compose' }];
const here: RunArchiveTask = (name, request, stop) => archiveTasks[name](request as never, stop) as never;

let workers: ArchiveWorkers | undefined;
const open = (changes: Partial<ThreadLimits> = {}) =>
  (workers = createArchiveWorkers({ memoryMiB: 256, timeMs, ...changes }));
afterEach(() => workers?.close());

/** A small archive whose compose file takes long to check, in seconds for 10 000 ports. */
const slowBy = (count: number): BundleOptions => ({
  compose: `services:\n  a:\n    image: a\n    ports: [${Array.from({ length: count }, (_, port) => `"${port + 1}:80"`).join()}]`,
});
const slow = slowBy(5000);

/** An archive in a file, and the directory for its files. */
async function archiveOf({ bytes, sha: sha256 }: Bundle) {
  const dir = tempDir();
  const [file, into] = [join(dir, 'archive'), join(dir, 'files')];
  await writeFile(file, bytes);
  await mkdir(into);
  return { file, into, sha256, limits };
}

/** A small archive whose compose file takes much memory. */
const large: BundleOptions = { compose: `x-a: [${'a,'.repeat(120_000)}]\nservices: {}\n` };

async function readSlow(run: RunArchiveTask, options = slow) {
  const bundle = await run('read', await archiveOf(createBundle(options)), signal);
  if ('refusal' in bundle) throw new Error(bundle.refusal.detail);
  return bundle;
}
const judged = async (run: RunArchiveTask, options: BundleOptions) =>
  run('judge', { bundle: await readSlow(run, options), hosts }, signal);

it.each([
  ['a sound one', {}],
  ['one without a manifest', { manifestText: null }],
  ['a damaged one', { archive: { truncatedBytes: 5 } }],
  ['one whose files are refused', { files: { id_rsa: '-----BEGIN OPENSSH PRIVATE KEY-----\n' } }],
] satisfies [string, BundleOptions][])('reads an archive in a thread as without one: %s', async (_what, options) => {
  const results = [];
  for (const run of [open().run, here]) {
    const { into, ...archive } = await archiveOf(createBundle(options));
    const bundle = await run('read', { ...archive, into }, signal);
    const search = 'refusal' in bundle ? null : await run('search', bundle, signal);
    results.push([{ ...bundle, dir: '' }, search]);
  }
  expect(results[0]).toEqual(results[1]);
});

it.each([
  ['a refusal', { archive: { truncatedBytes: 5 } }, (into: string) => into],
  ['an error of the disk', {}, (into: string) => join(into, 'missing')],
] satisfies [string, BundleOptions, (into: string) => string][])(
  'reports %s as without a thread',
  async (_w, options, place) => {
    const errors = [];
    for (const run of [open().run, here]) {
      const { file, into } = await archiveOf(createBundle(options));
      const error = await run('unpack', { file, into: place(into), limits }, signal).catch((thrown: unknown) => thrown);
      errors.push(error);
    }
    const [one, other] = errors as [Error, Error];
    expect(one.constructor).toBe(other.constructor);
    const withoutPath = (error: Error) => JSON.stringify(error).replaceAll(/\/[^ "]*files/g, '');
    expect(withoutPath(one)).toBe(withoutPath(other));
  },
);

it('runs the program of the package', async () => {
  const { text } = await bundleWorker(bundleOptions);
  workers = createArchiveWorkers({ memoryMiB: 256, timeMs }, text);
  const bundle = await workers.run('read', await archiveOf(createBundle()), signal);
  expect(bundle).toMatchObject({ manifest: { name: 'shop' } });
});

it.each<[string, BundleOptions, Partial<ThreadLimits>, string]>([
  ['takes too long', slow, { timeMs: { ...timeMs, judge: 200 } }, 'took longer than 0.2 s'],
  ['needs too much memory', large, { memoryMiB: 24 }, 'needed more than 24 MiB of memory'],
])('ends a thread that %s, and checks the next archive', async (_what, options, changes, reason) => {
  const { run } = open(changes);
  await expect(judged(run, options)).rejects.toMatchObject({
    fields: { status: 503, code: 'ARCHIVE_UNCHECKED', message: `checking the archive ${reason}`, retryAfterS: 60 },
  });
  expect(await run('read', await archiveOf(createBundle()), signal)).toMatchObject({ manifest: { name: 'shop' } });
});

it('ends a thread whose caller is gone', async () => {
  const { run } = open();
  const bundle = await readSlow(run);
  const began = performance.now();
  await expect(run('judge', { bundle, hosts }, AbortSignal.timeout(100))).rejects.toThrow('stopped');
  expect(performance.now() - began).toBeLessThan(1000);
});

it('unpacks two pushed archives at once, so that they share a bound of the disk', async () => {
  let [unpacked, most] = [0, 0];
  const runArchiveTask: RunArchiveTask = async (name, request, stop) => {
    if (name === 'read') most = Math.max(most, ++unpacked);
    await setTimeout(50);
    // The last task of a push.
    if (name === 'search') unpacked--;
    return here(name, request, stop) as never;
  };
  const service = await startService({ deps: { runArchiveTask } });
  const { bundleOf } = await createPushScene(service);
  const deployers = await Promise.all(Array.from({ length: 6 }, () => addOperator(service, 'admin')));
  const archives = deployers.map((_, index) => bundleOf({ sequence: 10, version: `${index}` }).bytes);
  const pushes = deployers.map((deployer, index) => deployer.push(archives[index]!));
  expect((await Promise.all(pushes)).map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409, 409, 409]);
  expect(most).toBe(2);
  await service.stop();
});

it('answers other calls while a small archive takes seconds to check', async () => {
  const took = new Map<string, number>();
  for (const [name, runArchiveTask] of [
    ['thread', open().run],
    ['loop', here],
  ] as const) {
    const service = await startService({ deps: { runArchiveTask } });
    const { bundleOf, deployer } = await createPushScene(service);
    const { bytes } = bundleOf(slowBy(9000));
    expect(bytes.length).toBeLessThan(50_000);
    const push = deployer.push(bytes);
    let [worst, isOver] = [0, false];
    void push.finally(() => (isOver = true));
    while (!isOver) {
      // The pause too: this process plays both parts.
      const began = performance.now();
      await setTimeout(10);
      await fetch(`${service.url}/healthz`);
      worst = Math.max(worst, performance.now() - began);
    }
    expect((await push).status).toBe(422);
    expect(await readdir(join(service.dir, 'incoming'))).toEqual([]);
    took.set(name, worst);
    await service.stop();
  }
  expect(took.get('thread')).toBeLessThan(took.get('loop')! / 3);
});
