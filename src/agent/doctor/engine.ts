import { Fault } from '../../../machines/fault.ts';
import type { RefusedFault } from '../../../machines/refusals.ts';
import type { ServiceProblem } from '../../../machines/types.ts';
import { executablesOf, pathsOf } from '../../bundle/archive/inventory.rules.ts';
import { type ComposeProject, writablePaths } from '../../bundle/compose/composeProject.rules.ts';
import { readComposeProject } from '../../bundle/compose/composeFiles.ts';
import { textOf } from '../../bundle/compose/composeNode.rules.ts';
import { effectiveValue, type ServiceLayers } from '../../bundle/compose/services.rules.ts';
import { writtenServicesOf } from '../../bundle/plan/writtenServices.rules.ts';
import { faultsWithoutEffect } from '../../bundle/policy/composePolicy.rules.ts';
import { anyHost } from '../../bundle/policy/policyHost.rules.ts';
import { fileFactsOf } from '../../core/accounts.ts';
import { type Check, checkDiskSpace, type Fact, inapplicableCheck, unknownCheck } from '../../core/doctor.rules.ts';
import { filesystemsOfPull } from '../apply/bundlePlan.ts';
import type { Settings } from '../config/settings.ts';
import { createCompose } from '../engine/compose.ts';
import { contentLabelsOf } from '../engine/container.rules.ts';
import { createContainers } from '../engine/containers.ts';
import { adoptable, describeUnknown } from '../health/drift.rules.ts';
import { catchFault } from '../journal/journal.ts';
import { networkDefinitionsOf } from '../release/grantedPrivileges.rules.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';
import { Releases } from '../release/releases.ts';
import { anonymousVolumesIn, unusedVolumes } from '../release/volumes.rules.ts';
import { lookAtHost } from '../status/status.ts';
import {
  checkComposeProgram,
  checkEngine,
  checkServices,
  checkSwarm,
  upgradeChecks,
  type UpgradeFacts,
} from './engine.rules.ts';
import { containersOf, diskSpacesOf, type DoctorContext, groupOf } from './host.ts';
import { checkUnusedVolumes } from './ticks.rules.ts';
import { planNetworks, unusedNetworks } from '../compose/networks.rules.ts';

/** Checks the engine, compose and the disk space for images and state. */
export async function examineEngine(context: DoctorContext): Promise<Check[]> {
  const { host, podman, signal, vault } = context;
  const settings = { env: 'unknown', ...context.settings } as Settings;
  const project = `deployd-${settings.env}`;
  const containers = containersOf(context);
  const filesystems = await catchFault(() => filesystemsOfPull({ containers, settings }));
  const options = { redactor: () => vault.redactor(), podmanVersion: async () => podman };
  const compose = await catchFault(() => createCompose(settings, project, options).probe(signal));
  const socket = await fileFactsOf(settings.container_host.replace('unix://', ''), host.agent);
  const fault = filesystems instanceof Fault ? filesystems.message : null;
  return [
    checkEngine({ socket, group: groupOf(socket), error: fault }, host.agent),
    checkComposeProgram(compose instanceof Fault ? compose.message.replace(/^[A-Z_]+: /, '') : null, podman),
    checkDiskSpace(
      filesystems instanceof Fault ? { unknown: filesystems.message } : await diskSpacesOf(filesystems, settings),
    ),
  ];
}

/** Checks of each orchestrator in addition to the engine. */
const examinations: Record<Settings['orchestrator'], (context: DoctorContext) => Promise<Check[]>> = {
  compose: async () => [],
  swarm: async (context) => [await examineSwarm(context)],
};

/** Checks the orchestrator of this host. */
export function examineOrchestrator(context: DoctorContext): Promise<Check[]> {
  return examinations[context.settings.orchestrator](context);
}

async function examineSwarm(context: DoctorContext): Promise<Check> {
  const { signal, vault } = context;
  const settings = { env: 'unknown', ...context.settings } as Settings;
  const { openSwarm } = await import('../swarm/openSwarm.ts');
  const { swarm, stacks } = openSwarm({ settings, project: `deployd-${settings.env}`, vault, signal });
  const docker = await catchFault(() => stacks.probe(signal));
  const membership = await catchFault(() => swarm.membership());
  if (membership instanceof Fault) return unknownCheck('swarm', membership.message);
  const nodes = await catchFault(() => swarm.nodes());
  const dockerError = docker instanceof Fault ? docker.message : null;
  return checkSwarm({ membership, nodes: nodes instanceof Fault ? [] : nodes, dockerError });
}

/** Longer than the limit of `status`: a busy engine answers late. */
const lookMs = 10_000;

/** Looks for anonymous volumes of earlier containers. */
export async function examineUnusedVolumes({ host, settings, signal }: DoctorContext): Promise<Check> {
  if ('unknown' in host.state) return checkUnusedVolumes(host.state);
  const { container_host: containerHost, env, orchestrator, state_dir } = settings;
  const remembered = host.state.known?.left_volumes ?? [];
  if (env === undefined || orchestrator === 'swarm')
    return inapplicableCheck('unused volumes', 'nothing is remembered');
  const found = await catchFault(async () => {
    const releases = new Releases(state_dir, `${state_dir}/${env}`);
    const records = await Promise.all((await releases.listIfExists()).map((sha) => releases.readRecord(sha)));
    const known = [...remembered, ...anonymousVolumesIn(records.filter((record) => record !== null))];
    if (known.length === 0) return [];
    const containers = createContainers({ containerHost, project: `deployd-${env}`, signal });
    return unusedVolumes(known, await containers.volumeUses());
  });
  return checkUnusedVolumes(found instanceof Fault ? { unknown: found.message } : { known: found });
}

/** Looks at the containers of the applied release. */
export async function examineServices({ configPath, host, settings, vault }: DoctorContext): Promise<Check> {
  const name = 'services';
  if ('unknown' in host.state) return unknownCheck(name, host.state.unknown);
  const state = host.state.known;
  if (settings.env === undefined) return unknownCheck(name, 'the configuration does not name the environment');
  if (state === null || state.applied_sha === null) return inapplicableCheck(name, 'nothing is applied');
  if (state.env !== settings.env) return unknownCheck(name, `state.json belongs to environment ${state.env}`);
  const seen = await lookAtHost({ settings: settings as Settings, state, vault, timeoutMs: lookMs });
  return checkServices(seen, { heals: settings.heal, configPath });
}

/** Reports how the new defaults of this version would change this host; changes nothing. */
export async function examineUpgrade(context: DoctorContext): Promise<Check[]> {
  return upgradeChecks(await factsOf(context));
}

async function factsOf({ host, settings, signal, vault }: DoctorContext): Promise<Fact<UpgradeFacts | null>> {
  if ('unknown' in host.state) return host.state;
  const { env, state_dir } = settings;
  const sha = host.state.known?.applied_sha ?? null;
  if (sha === null) return { known: null };
  if (env === undefined) return { unknown: 'the configuration does not name the environment' };
  const releases = new Releases(state_dir, `${state_dir}/${env}`);
  try {
    const record = await releases.readRecord(sha);
    if (record === null) return { unknown: `release ${sha} is incomplete` };
    const dir = releases.pathOf(sha);
    const { project } = await readComposeProject({ dir, manifest: record }, signal);
    const recorded = record.services.filter(({ kind }) => kind !== undefined).map(({ name }) => name);
    return {
      known: {
        dir,
        writable: writablePaths(project),
        services: writtenServicesOf(project.active),
        recorded: new Set(recorded),
        jobTimeoutS: settings.job_timeout_s,
        drifted: await driftedOf({ releases, record, settings, env }, signal),
        drift: settings.drift,
        networks: await networksOf({ releases, record, settings, env }, vault, signal),
        withoutEffect: await withoutEffectIn({ releases, record, settings, env }, { written: project, vault }, signal),
        kept: record.containers ? [] : keptImages(project.active),
        written: await writtenIn(releases, signal),
      },
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { unknown: error.message };
  }
}

/** Images of a release that an earlier version applied, except images with a digest, which never change. */
function keptImages(services: ServiceLayers): UpgradeFacts['kept'] {
  return [...services].flatMap(([service, layers]) => {
    const image = textOf(effectiveValue(layers, 'image')) ?? '';
    const policy = textOf(effectiveValue(layers, 'pull_policy')) ?? 'always';
    return policy === 'always' || image.includes('@') ? [] : [{ service, image, policy }];
  });
}

interface ExaminedRelease {
  releases: Releases;
  record: ReleaseRecord;
  settings: DoctorContext['settings'];
  env: string;
}

/** Checks the files as written; unknown versions of compose and engine cause and excuse no finding. */
async function withoutEffectIn(
  { releases, record, settings, env }: ExaminedRelease,
  { written, vault }: { written: ComposeProject; vault: DoctorContext['vault'] },
  signal: AbortSignal,
): Promise<RefusedFault[]> {
  if (settings.orchestrator === 'swarm') return [];
  const project = `deployd-${env}`;
  const containers = createContainers({ containerHost: settings.container_host, project, signal });
  const options = { redactor: () => vault.redactor(), podmanVersion: () => containers.podmanVersion() };
  const version = await catchFault(() =>
    createCompose({ ...settings, env } as Settings, project, options).version(signal),
  );
  const engine = await catchFault(() => containers.policyFacts());
  const inventory = await releases.readInventory(record.sha);
  const contents = inventory ?? { files: [], directories: [] };
  return faultsWithoutEffect(written, {
    ...{ projectName: project, releaseFiles: pathsOf(contents) },
    ...(inventory && { executables: executablesOf(contents) }),
    ...(engine instanceof Fault ? {} : engine),
    host: { ...anyHost, composeVersion: version instanceof Fault ? null : version },
  });
}

/**
 * By image and content alone, without hashes of compose. If containers are recorded, each tick compares them already.
 */
async function driftedOf(
  { releases, record, settings, env }: ExaminedRelease,
  signal: AbortSignal,
): Promise<Fact<Pick<ServiceProblem, 'service' | 'detail'>[]>> {
  if (record.containers !== undefined) return { known: [] };
  const containers = createContainers({ containerHost: settings.container_host, project: `deployd-${env}`, signal });
  try {
    const contents = contentLabelsOf(await releases.readOverride(record.sha));
    const facts = { record, hashes: null, composeVersion: '', contents };
    const { foreign } = adoptable(await containers.listStatuses(), facts);
    return { known: foreign.map((each) => ({ service: each.service, detail: describeUnknown(each, record) })) };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { unknown: error.message };
  }
}

/** By the model that compose renders now; an older agent has not recorded one. */
async function networksOf(
  { releases, record, settings, env }: ExaminedRelease,
  vault: DoctorContext['vault'],
  signal: AbortSignal,
): Promise<UpgradeFacts['networks']> {
  if (settings.orchestrator === 'swarm') return { known: { changed: [], unused: [] } };
  const project = `deployd-${env}`;
  const containers = createContainers({ containerHost: settings.container_host, project, signal });
  const options = { redactor: () => vault.redactor(), podmanVersion: () => containers.podmanVersion() };
  const compose = createCompose({ ...settings, env } as Settings, project, options);
  const { compose: files, profiles = [] } = record;
  const found = await catchFault(async () => {
    const model = await compose.renderModel({ dir: releases.pathOf(record.sha), files, profiles }, signal);
    const own = new Set((await containers.listStatuses()).map(({ id }) => id));
    const users = await containers.resourceUsers();
    return { wanted: networkDefinitionsOf(model), networks: await containers.networks(), users, own };
  });
  if (found instanceof Fault) return { unknown: found.message };
  const { wanted, networks, users, own } = found;
  const foreign = users.filter(({ id }) => !own.has(id));
  const plan = planNetworks({ wanted, asked: {}, networks, foreign, project, hide: (fact) => fact });
  const names = (name: string) => Object.hasOwn(wanted, name);
  const unused = unusedNetworks(networks, { names, users: foreign, project });
  const removed = plan.removed.map(({ network, why }) => ({ name: network.name, why, users: [] }));
  return {
    known: {
      changed: [...removed, ...plan.conflicts].filter(({ name }) => names(name)),
      unused: unused.map(({ network, users: using }) => ({ name: network.name, users: using })),
    },
  };
}

/** Maximum number of paths of a release in a message. */
const maxNamed = 3;

export async function writtenIn(releases: Releases, signal: AbortSignal): Promise<UpgradeFacts['written']> {
  const all = (await releases.listIfExists()).map(async (sha) => {
    return { sha, paths: await releases.writtenFiles(sha, maxNamed, signal) };
  });
  return (await Promise.all(all)).filter(({ paths }) => paths.length > 0);
}
