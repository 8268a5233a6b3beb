import { hostname } from 'node:os';
import { Fault } from '../../../machines/fault.ts';
import type { Sha } from '../../../machines/types.ts';
import { digestsOf, readComposeProject, readEnvTexts } from '../../bundle/compose/composeFiles.ts';
import { parseListeners, type TakenPort } from '../../bundle/compose/networks.rules.ts';
import type { EngineMeans, ImageAccounts } from '../../bundle/plan/bundleToStart.rules.ts';
import { type ComparableRelease, hasSameContent } from '../../bundle/plan/changes.rules.ts';
import type { NewestApplied } from '../../bundle/plan/hostState.rules.ts';
import { imagesToRead } from '../../bundle/plan/hostFaults.rules.ts';
import { writtenPulls } from '../../bundle/plan/images.rules.ts';
import { type BundleFacts, type HostFacts, type Plan, planOf } from '../../bundle/plan/plan.rules.ts';
import { servicesToAwait } from '../../bundle/plan/waitPlan.rules.ts';
import { engineHealthcheckOf, type Healthcheck, type WrittenService } from '../../bundle/plan/writtenServices.rules.ts';
import { anyHost } from '../../bundle/policy/policyHost.rules.ts';
import { bundleFactsOf, readManifest, type UnpackedBundle } from '../../bundle/readBundle.ts';
import type { Fact } from '../../core/doctor.rules.ts';
import { filesystemsOf } from '../../core/files.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Compose } from '../engine/compose.ts';
import type { Containers } from '../engine/containers.ts';
import { catchFault } from '../journal/journal.ts';
import { findOrphanedResources } from '../release/down.ts';
import { wasApplied } from '../release/record.rules.ts';
import type { Releases } from '../release/releases.ts';
import { readTextIfExists } from '../state/fileSystem.ts';
import type { State } from '../state/state.rules.ts';
import { containerdRoots, policyHostOf } from './policyHost.ts';
import type { ComposeProject } from '../../bundle/compose/composeProject.rules.ts';
import { engineMeansOf } from '../engine/resources.rules.ts';

/** The host that a bundle is planned for; planning does not change it. */
export interface TargetHost {
  settings: Settings;
  containers: Containers;
  compose: Pick<Compose, 'version'>;
  releases: Releases;
  /** Null on a host without state.json. */
  state: Fact<State | null>;
  /** Production flag of the check-in; false without a check-in. */
  production: boolean;
}

/** A plan, and the fault of the engine; null when the engine answered. */
interface BundlePlan {
  plan: Plan;
  engineFault: Fault | null;
  /** True if this host has already applied the content of the bundle. */
  isApplied: boolean;
  project: ComposeProject;
}

/** Plans the apply of a bundle; writes nothing. Throws Fault `stopped`. */
export async function planBundle(bundle: UnpackedBundle, host: TargetHost, signal: AbortSignal): Promise<BundlePlan> {
  const isApplied = await isKnownContent(bundle, host);
  const facts = { ...(await bundleFactsOf(bundle, signal)), isApplied };
  const engine = await catchFault(() => engineFacts(host, facts));
  const policyHost = await catchFault(() => policyHostOf(host, facts.project, signal));
  const { policy, orchestrator } = host.settings;
  const known: HostFacts = {
    policyHost: policyHost instanceof Fault ? { ...anyHost, policy, orchestrator } : policyHost,
    newest: newestOf(host),
    applied: 'known' in host.state ? await appliedRelease(host, host.state.known, signal) : host.state,
    engine: engine instanceof Fault ? { unknown: engine.message } : { known: engine },
    waits: host.settings,
  };
  const engineFault = engine instanceof Fault ? engine : null;
  return { plan: planOf(facts, known), engineFault, isApplied, project: facts.project };
}

/** Why a host that trusts signatures cannot know that its first bundle is not an old one. */
export const ageUnknown =
  'no bundle was applied here before, so a signed one of any sequence is accepted; set the lowest by `sudo deployd trust reset --sequence N`';

function newestOf({ state, settings }: TargetHost): Fact<NewestApplied | null> {
  if ('unknown' in state) return state;
  const { highest_sequence: sequence = 0, highest_sha: sha = null } = state.known ?? {};
  if (sequence === 0) return settings.trust.bundles === null ? { known: null } : { unknown: ageUnknown };
  return { known: { sequence, sha } };
}

async function isKnownContent(bundle: UnpackedBundle, { releases, state }: TargetHost): Promise<boolean> {
  if ('unknown' in state) return false;
  return isAppliedContent(releases, bundle, state.known?.applied_sha ?? null);
}

/** The applied release; unknown after an interrupted apply, whose containers may belong to different releases. */
async function appliedRelease(
  { releases }: TargetHost,
  state: State | null,
  signal: AbortSignal,
): Promise<HostFacts['applied']> {
  const sha = state?.applied_sha ?? null;
  if (state?.attempt) return { unknown: 'an apply was cut short' };
  if (sha === null) return { known: null };
  const release = await catchFault(() => readRelease(releases, sha, signal));
  if (release instanceof Fault) return { unknown: release.message };
  return release === null ? { unknown: `release ${sha} is incomplete` } : { known: release };
}

/**
 * Takes the digests from the inventory: reading the files is unsafe, because a container may have made them arbitrarily
 * large.
 */
async function readRelease(releases: Releases, sha: Sha, signal: AbortSignal): Promise<ComparableRelease | null> {
  const [record, contents] = [await releases.readRecord(sha), await releases.readInventory(sha)];
  if (record === null || contents === null) return null;
  const source = { dir: releases.pathOf(sha), manifest: record };
  const { project } = await readComposeProject(source, signal);
  const texts = await readEnvTexts(source, project, signal);
  const { version, variables = {} } = record;
  return { sha, version, variables, project, digests: digestsOf(contents, project), texts };
}

/** Names of the services that each orchestrator has started. */
const startedServices: Record<Settings['orchestrator'], (containers: Containers) => Promise<string[]>> = {
  compose: async (containers) => (await containers.list()).map(({ service }) => service),
  swarm: (containers) => containers.stackServices(),
};

type EngineFacts = Extract<HostFacts['engine'], { known: unknown }>['known'];

async function engineFacts(host: TargetHost, bundle: BundleFacts): Promise<EngineFacts> {
  const { manifest } = bundle;
  const { containers, settings, state } = host;
  const known = 'known' in state ? state.known : null;
  const orphans = known && (await findOrphanedResources(host, known, host.production || manifest.production));
  const images = await engineImages(host, bundle);
  return {
    volumes: await containers.volumes(),
    orphanedVolumes: orphans?.volumes ?? [],
    services: new Set(await startedServices[settings.orchestrator](containers)),
    policyFacts: await containers.policyFacts(),
    filesystems: await filesystemsOfPull({ containers, settings }),
    headroomBytes: settings.disk.headroom_bytes,
    ...images,
    means: { ...(await readMeans(containers)), accounts: await readAccounts(host, bundle, images) },
    imageHealthchecks: await readImageHealthchecks(host, servicesToAwait(bundle)),
  };
}

/** The capabilities of the engine, and the resources of this host that are in use by others. */
async function readMeans(containers: Containers): Promise<EngineMeans> {
  const before = await readListeners();
  const reading = await containers.reading();
  const after = await readListeners();
  // a port that is open in only one of both samples may belong to a container of the project that stops or starts
  // meanwhile
  const listeners = before.filter((one) =>
    after.some(
      ({ port, protocol, address }) => one.port === port && one.protocol === protocol && one.address === address,
    ),
  );
  return engineMeansOf({ ...reading, listeners, hostname: hostname() });
}

/**
 * The local images that decide which images are pulled: none in a swarm, whose nodes pull, nor if signatures decide
 * which image a reference means.
 */
async function engineImages(
  { containers, settings }: TargetHost,
  bundle: BundleFacts,
): Promise<Pick<EngineFacts, 'images'>> {
  if (settings.orchestrator !== 'compose' || settings.trust.images !== null) return {};
  const references = new Set(writtenPulls(bundle).map(({ image }) => image));
  const local = await Promise.all(
    [...references].map(async (image) => [image, await containers.localImage(image)] as const),
  );
  return { images: { local: new Map(local), nowMs: Date.now() } };
}

/** The users of the images that an apply keeps, for services without `user`; an unreadable image decides nothing. */
async function readAccounts(
  { containers }: TargetHost,
  bundle: BundleFacts,
  { images }: Pick<EngineFacts, 'images'>,
): Promise<Map<string, ImageAccounts>> {
  const references = images === undefined ? [] : imagesToRead(bundle, images);
  const found = new Map<string, ImageAccounts>();
  for (const image of references) {
    const accounts = await catchFault(() => containers.imageAccounts(image));
    if (accounts !== null && !(accounts instanceof Fault)) found.set(image, accounts);
  }
  return found;
}

/** The healthchecks of local images, by reference, for services that do not define one. */
export async function readImageHealthchecks(
  { containers }: { containers: Containers },
  services: readonly WrittenService[],
): Promise<Map<string, Healthcheck>> {
  const undecided = services.filter(({ healthcheck }) => !healthcheck.isOff && !healthcheck.hasTest);
  const images = new Set(undecided.flatMap(({ image }) => image ?? []));
  const found = await Promise.all([...images].map(async (image) => [image, await containers.image(image)] as const));
  return new Map(
    found.flatMap(([image, facts]) => (facts === null ? [] : [[image, engineHealthcheckOf(facts.healthcheck)]])),
  );
}

/** The filesystems that a pull writes to (spec §5.8). */
export async function filesystemsOfPull({ containers, settings }: Pick<TargetHost, 'containers' | 'settings'>) {
  const { rootDir, containerdStore } = await containers.info();
  const containerdDirs = containerdStore ? await containerdRoots(rootDir) : [];
  return filesystemsOf([rootDir, ...containerdDirs, ...settings.disk.paths]);
}

/**
 * True if this host has already applied the content of a bundle. The bundle is the applied one, or an applied release
 * has the same files and a manifest that differs only in the versions of secrets.
 */
async function isAppliedContent(
  releases: Releases,
  { sha, manifest, contents }: UnpackedBundle,
  appliedSha: string | null,
): Promise<boolean> {
  if (sha !== null && sha === appliedSha) return true;
  for (const each of await releases.listIfExists()) {
    const record = await releases.readRecord(each);
    if (record === null || !wasApplied(record)) continue;
    if (each === sha) return true;
    const inventory = await releases.readInventory(each);
    if (inventory === null) continue;
    const known = await readManifest(releases.pathOf(each), manifest.env);
    if ('manifest' in known && hasSameContent({ manifest, contents }, { ...known, contents: inventory })) return true;
  }
  return false;
}

const tables = ['tcp', 'tcp6', 'udp', 'udp6'] as const;

/**
 * The TCP ports that programs of this host listen on, in the network namespace of the agent. Throws a Fault when they
 * cannot be read.
 */
async function readListeners(): Promise<TakenPort[]> {
  const texts = await Promise.all(
    tables.map(async (table) => ({ table, text: (await readTextIfExists(`/proc/self/net/${table}`)) ?? '' })),
  );
  return texts.flatMap(({ table, text }) => parseListeners(text, table.startsWith('tcp') ? 'tcp' : 'udp'));
}
