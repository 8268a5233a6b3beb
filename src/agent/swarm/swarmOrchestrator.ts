import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { failedFault, Fault } from '../../../machines/fault.ts';
import { formatRefusal } from '../../../machines/refusals.ts';
import type { Bundle, DesiredState, ObservedState, Sha } from '../../../machines/types.ts';
import { diskFault } from '../../core/errors.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import { registryOf } from '../../registry/imageReference.rules.ts';
import { imageDigest, RegistryError } from '../../registry/repository.ts';
import { download, unpack, verifySignatures } from '../apply/obtainBundle.ts';
import { readSecrets } from '../apply/readSecrets.ts';
import { renderRelease } from '../apply/renderRelease.ts';
import { validateBundle, validateRenderedModel } from '../apply/validate.ts';
import { verifyImages } from '../apply/verifyImages.ts';
import { type RegistryLogin, registryLoginsOf } from '../engine/registries.ts';
import { pruneImages, warnOnError } from '../release/garbage.ts';
import type { Carried, Orchestrator } from '../release/orchestrator.ts';
import { expectedServices, isSameRecord, type ReleaseRecord } from '../release/record.rules.ts';
import { completeRecord, composeReleaseOf, type Releases } from '../release/releases.ts';
import { parseEnvFile } from '../secrets/envFile.rules.ts';
import type { StateStore } from '../state/stateFile.ts';
import { down, pruneOtherNodes } from './nodeWork.ts';
import { openSwarm, type SwarmAdapters, type SwarmOptions } from './openSwarm.ts';
import { SharedState } from './sharedState.ts';
import { type MountedFile, stackOf } from './stack.rules.ts';
import { servicesWithDroppedTask, servicesWithoutTask, stackServicesOf, waitsForNodes } from './stackHealth.rules.ts';
import type { StackFacts, SwarmService } from './stackTask.rules.ts';
import { observe, readStack, type SwarmAgent, type SwarmDependencies, waitUntilHealthy } from './waitUntilHealthy.ts';
import { isOutside, leaderInstead, membershipFault } from './swarmState.rules.ts';

/** Drives the swarm of this host's engine; `state.json` becomes a copy of the state that its managers share. */
export function createSwarmOrchestration(
  getDeps: () => SwarmAgent,
  { file, releases, ...options }: SwarmOptions & { file: StateStore; releases: Pick<Releases, 'readRecord'> },
): { orchestrator: Orchestrator; state: StateStore } {
  const adapters = openSwarm(options);
  const state = new SharedState({ file, facts: adapters.facts, readRecord: (sha) => releases.readRecord(sha) });
  return { state, orchestrator: createSwarmOrchestrator(getDeps, { ...adapters, state }) };
}

/** A stack of Docker Swarm on all nodes of the swarm. */
export function createSwarmOrchestrator(
  getDeps: () => SwarmAgent,
  shared: SwarmAdapters & { state: SharedState },
): Orchestrator {
  const [digests, mounted] = [new Map<string, string>(), new Set<string>()];
  const context = (): SwarmDependencies => ({ ...shared, deps: getDeps(), digests, mounted });
  return {
    isShared: true,
    membership: () => membership(context()),
    observe: (applied) => observe(context(), applied),
    adopt: async () => [], // the swarm makes containers itself
    obtain: (sha, signal) => obtainRelease(context(), sha, signal),
    pull: (input, signal) => pinImages(context(), input, signal),
    start: async ({ bundle }, signal) => {
      await start(context(), bundle, signal);
      return { wait: null };
    },
    waitUntilHealthy: ({ bundle }, signal) => waitUntilHealthy(context(), bundle.sha, signal),
    restore: ({ sha }, signal) => restore(context(), sha, signal),
    removeUnused: () => removeUnmounted(context()),
    runningImages: async () => [...digests].map(([reference, id]) => ({ reference, id })),
    finishedOneShots: async ({ jobs = [] }) => jobs,
    containers: async () => (await observe(context(), null)).containers,
    volumes: () => shared.swarm.volumes(),
    down: (options, signal) => down(context(), options, signal),
    prune: async () => {
      const deps = getDeps();
      await pruneImages(deps);
      await warnOnError(deps, 'images on other nodes stay for now', () => pruneOtherNodes(context(), deps.stop.signal));
    },
  };
}

/**
 * The swarm of this node, and the manager that acts instead of it, after this host has copied the shared state of the
 * managers.
 */
export async function membership(context: SwarmDependencies): Promise<Pick<ObservedState, 'leader' | 'swarm'>> {
  const { swarm, state } = context;
  const found = await swarm.membership();
  if (isOutside(found)) await state.update({ swarm: null });
  const fault = membershipFault(found);
  if (fault !== null) throw fault;
  const { NodeID, Cluster } = found;
  const own = { id: Cluster?.ID ?? '', node: NodeID };
  await state.update({ swarm: own });
  const leader = leaderInstead(found, await swarm.nodes());
  await state.follow({ node: NodeID, acts: leader === null });
  await forgetSecrets(context, leader === null);
  return { leader, swarm: own };
}

/**
 * Removes secret values that another manager has applied again or taken down. A manager that does not act keeps only
 * the values of the applied release, which it may have to start again. The acting manager keeps the values of its
 * attempt and of the release to revert to.
 */
async function forgetSecrets({ deps, state }: SwarmDependencies, acts: boolean): Promise<void> {
  const { releases } = deps;
  const { applied_sha, attempt } = state.state;
  for (const sha of await releases.list()) {
    if (acts && sha === attempt?.sha) continue;
    const isCurrent = sha === applied_sha ? isSameRecord(await releases.readRecord(sha), state.record) : acts;
    if (!isCurrent && (await releases.hasEnv(sha))) await releases.stripEnv(sha);
  }
  if (!acts && applied_sha === null) await releases.current.remove();
}

/** Largest number of images that registries are asked for at the same time. */
const digestsAtOnce = 8;

/**
 * Asks registries for the digest of each image of a bundle, so that every node gets the same one, now and after a revert.
 * The nodes pull by themselves. Throws `PULL_FAILED`.
 */
export async function pinImages(
  context: SwarmDependencies,
  { bundle, release }: Carried<'bundle' | 'release'>,
  signal: AbortSignal,
): Promise<void> {
  const { deps, digests } = context;
  const access = deps.registries.open(registryLoginsOf(deps, bundle), signal);
  deps.vault.noteUntrackedSecrets(); // tokens of registries
  const users = new Map<string, string>();
  for (const [service, { image }] of release.services) {
    const reference = deps.vault.reveal(image);
    users.set(reference, users.get(reference) ?? service);
  }
  const waiting = users.entries();
  const ask = async (): Promise<void> => {
    for (const [image, service] of waiting) {
      const digest = await imageDigest(image, access).catch((error: unknown) => {
        if (!(error instanceof RegistryError)) throw error;
        const why = deps.vault.isSecretFree(registryOf(image)) ? error.message : 'its registry cannot be asked';
        throw failedFault('PULL_FAILED', `the image of ${service} has no digest: ${why}`);
      });
      digests.set(image, digest);
    }
  };
  try {
    await Promise.all(Array.from({ length: digestsAtOnce }, ask));
  } finally {
    access.close();
  }
}

/**
 * Renders a release on this host as an apply would, unless the applied release is already there: the agent of another
 * node may have applied it. Values of secrets are the newest, images come from its record. A refusal is a failure, with
 * its code.
 */
export async function obtainRelease({ deps, state }: SwarmDependencies, sha: Sha, signal: AbortSignal): Promise<void> {
  const applied = state.record?.sha === sha ? state.record : null;
  if (await isHere(deps, sha, applied)) return;
  deps.tick.journal.info(`release ${sha} was applied by another manager; its bundle and secrets are fetched`);
  try {
    await render(deps, sha, signal);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending !== 'refused') throw error;
    const why = error.refusals.map(formatRefusal).join('; ');
    throw failedFault(
      error.code ?? 'PRIVILEGED_REFUSED',
      `this host refuses release ${sha}, and does not start it: ${why}`,
    );
  } finally {
    await deps.releases.clearStaging(sha, signal);
  }
  await deps.releases.dropBackup(sha);
  const rendered = await deps.releases.readRecord(sha);
  if (applied === null || rendered === null) return;
  const { images, jobs = [], production } = applied;
  await deps.releases.writeRecord(sha, { ...rendered, images, jobs, production });
}

async function isHere({ releases }: SwarmAgent, sha: Sha, applied: ReleaseRecord | null): Promise<boolean> {
  if (!(await releases.isComplete(sha))) return false;
  return applied === null || isSameRecord(await releases.readRecord(sha), applied);
}

/** The steps of an apply until the release is on disk; running services are not changed. */
async function render(deps: SwarmAgent, sha: Sha, signal: AbortSignal): Promise<void> {
  const desired = desiredAgain(deps, sha);
  const { archive } = await download(deps, { desired }, signal);
  const { signatures } = await verifySignatures(deps, { archive }, signal);
  const unpacked = await unpack(deps, { archive, signatures }, signal);
  const validated = { ...unpacked, ...(await validateBundle(deps, { ...unpacked, desired }, signal)) };
  const { secrets } = await readSecrets(deps, validated, signal);
  const { model } = await validateRenderedModel(deps, { ...validated, secrets }, signal);
  const { images } = await verifyImages(deps, { ...validated, model }, signal);
  await renderRelease(deps, { ...validated, signatures, secrets, model, images }, signal);
}

function desiredAgain({ settings, state }: SwarmAgent, sha: Sha): DesiredState {
  return {
    action: 'apply',
    desiredSha: sha,
    appliedSha: state.state.applied_sha,
    sizeBytes: settings.limits.bundle_bytes,
    production: state.state.production,
    purgeVolumes: false,
    reason: '',
    retryDelay: null,
    emergency: false,
    deferral: null,
  };
}

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
