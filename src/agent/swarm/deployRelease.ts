import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { failedFault } from '../../../machines/fault.ts';
import type { Bundle, Sha } from '../../../machines/types.ts';
import { diskFault } from '../../core/errors.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import { type RegistryLogin, registryLoginsOf } from '../engine/registries.ts';
import { expectedServices } from '../release/record.rules.ts';
import { completeRecord, composeReleaseOf } from '../release/restoreRelease.ts';
import { parseEnvFile } from '../secrets/envFile.rules.ts';
import { type MountedFile, stackOf } from './stack.rules.ts';
import { servicesWithDroppedTask, servicesWithoutTask, stackServicesOf, waitsForNodes } from './stackHealth.rules.ts';
import type { StackFacts, SwarmService } from './stackTask.rules.ts';
import { readStack, type SwarmDependencies, waitUntilHealthy } from './waitUntilHealthy.ts';

/** Starts a bundle with the digests that its images were resolved to. */
export async function start(context: SwarmDependencies, bundle: Bundle, signal: AbortSignal): Promise<void> {
  const { deps, digests } = context;
  const { sha } = bundle;
  await deps.state.update({ attempt: { sha, phase: 'starting', at: new Date().toISOString() } });
  await deployRelease(context, { sha, digests, logins: registryLoginsOf(deps, bundle) }, signal);
  await startAnew(context, servicesWithDroppedTask);
}

/**
 * Starts a release again with the digests in its record, and unchanged services that have no running task; then removes
 * content that only another release mounted. Does not deploy a release that only waits for nodes.
 */
export async function restore(context: SwarmDependencies, sha: Sha, signal: AbortSignal): Promise<void> {
  const { images } = await completeRecord(context.deps, sha);
  const release = { sha, services: expectedServices(await context.deps.releases.readRecord(sha)) };
  const facts = await readStack(context);
  if (waitsForNodes(facts, stackServicesOf(facts, release), sha)) {
    await startAnew(context, servicesWithDroppedTask);
    await waitUntilHealthy(context, sha, signal);
    return;
  }
  const digests = new Map(images.flatMap(({ reference, id }) => (id === null ? [] : [[reference, id] as const])));
  await deployRelease(context, { sha, digests, logins: [] }, signal);
  await startAnew(context, (found) => [
    ...servicesWithoutTask(found, stackServicesOf(found, release)),
    ...servicesWithDroppedTask(found),
  ]);
  await waitUntilHealthy(context, sha, signal);
  await removeUnmounted(context);
}

/** Starts the tasks of stranded services again, each once; the wait reports a task that ends again. */
async function startAnew(context: SwarmDependencies, strandedOf: (facts: StackFacts) => SwarmService[]): Promise<void> {
  const { state, swarm } = context;
  const started = new Set<string>();
  for (;;) {
    const waiting = strandedOf(await readStack(context)).filter(({ ID }) => !started.has(ID));
    if (waiting.length === 0) return;
    await state.confirm();
    for (const service of waiting) if (await swarm.startAnew(service)) started.add(service.ID);
  }
}

/** Removes the content that the last deployed stack does not mount. */
export async function removeUnmounted({ contents, mounted, state }: SwarmDependencies): Promise<void> {
  await state.confirm();
  await contents.removeOthers(mounted);
}

interface Deployment {
  sha: Sha;
  digests: ReadonlyMap<string, string>;
  logins: RegistryLogin[];
}

/** Renders a release, stores the content that its tasks mount in the swarm, and deploys it. */
async function deployRelease(
  context: SwarmDependencies,
  { sha, digests, logins }: Deployment,
  signal: AbortSignal,
): Promise<void> {
  const { deps, contents, facts, mounted, stacks, state } = context;
  const release = await composeReleaseOf(deps, sha);
  const model = await deps.compose.renderModel(release, signal);
  const stack = stackOf(model, {
    sha,
    dir: release.dir,
    files: await mountedFiles(deps, sha),
    values: parseEnvFile((await deps.releases.readEnv(sha)) ?? '') ?? new Map<string, string>(),
    nameOf: contents.nameOf(await facts.key()),
    pinnedImages: new Map([...digests].map(([image, digest]) => [image, pinnedTo(image, digest)])),
  });
  if (stack.empty.length > 0)
    throw failedFault('UP_FAILED', `a swarm keeps no empty secret or file, as is mounted in ${stack.empty.join(', ')}`);
  await contents.keep(stack.contents);
  mounted.clear();
  for (const { name } of stack.contents) mounted.add(name);
  await state.confirm();
  await stacks.deploy(stack.file, logins, signal);
}

async function mountedFiles({ releases }: SwarmDependencies['deps'], sha: Sha) {
  const { files = [], reached = [] } = (await releases.readInventory(sha)) ?? {};
  const isReached = (path: string) => reached.some((each) => path === each || path.startsWith(`${each}/`));
  const paths = files.map(({ path }) => path).filter(isReached);
  const read = paths.map(async (path) => [path, await readMountedFile(join(releases.pathOf(sha), path))] as const);
  return new Map(await Promise.all(read));
}

function pinnedTo(image: string, digest: string): string {
  return image.includes('@') ? image : `${image}@${digest}`;
}

const anyoneExecutes = 0o111;

/** A file of a release that a service mounts. Throws `DISK_READ_FAILED`. */
async function readMountedFile(path: string): Promise<MountedFile> {
  try {
    const { mode } = await stat(path);
    return { data: readRegularFile(path), isExecutable: (mode & anyoneExecutes) !== 0 };
  } catch (error) {
    throw diskFault('read', path, error);
  }
}
