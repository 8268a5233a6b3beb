import type { RefusedFault } from '../../../machines/refusals.ts';
import type { ServiceProblem, Sha } from '../../../machines/types.ts';
import { type WrittenService, writtenServicesOf } from '../../bundle/plan/writtenServices.rules.ts';
import { readServices } from '../../bundle/plan/bundleToStart.rules.ts';
import { replicasOf } from '../../bundle/plan/resourceFaults.rules.ts';
import { startFirstServices } from '../../bundle/plan/startFirst.rules.ts';
import { type Check, checkResult, type Fact, type Finding, unknownCheck } from '../../core/doctor.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { Fault } from '../../../machines/fault.ts';
import { executablesOf, pathsOf } from '../../bundle/archive/inventory.rules.ts';
import { type ComposeProject, writablePaths } from '../../bundle/compose/composeProject.rules.ts';
import { readComposeProject } from '../../bundle/compose/composeFiles.ts';
import { textOf } from '../../bundle/compose/composeNode.rules.ts';
import { effectiveValue, type ServiceLayers } from '../../bundle/compose/services.rules.ts';
import { faultsWithoutEffect } from '../../bundle/policy/composePolicy.rules.ts';
import { anyHost } from '../../bundle/policy/policyHost.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import { createCompose } from '../engine/compose.ts';
import { contentLabelsOf } from '../engine/container.rules.ts';
import { createContainers } from '../engine/containers.ts';
import { adoptable, describeUnknown } from '../health/drift.rules.ts';
import { catchFault } from '../journal/journal.ts';
import { networkDefinitionsOf } from '../release/grantedPrivileges.rules.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';
import { Releases } from '../release/releases.ts';
import type { DoctorContext } from './host.ts';
import { planNetworks, unusedNetworks } from '../compose/networks.rules.ts';

/** Findings of the new defaults of this version (docs/upgrading.md) about the applied release. */
export interface UpgradeFacts {
  dir: string;
  /** Paths of the bundle that containers may write to. */
  writable: readonly string[];
  services: readonly WrittenService[];
  /** Services whose kind is recorded by an agent with jobs. */
  recorded: ReadonlySet<string>;
  jobTimeoutS: number;
  /** Containers that do not belong to the release. */
  drifted: Fact<readonly Pick<ServiceProblem, 'service' | 'detail'>[]>;
  drift: 'heal' | 'report';
  /** Features of its compose files that this host does not support. */
  withoutEffect: readonly RefusedFault[];
  /** Resources that two containers of a service cannot share, though it asks for start-first. */
  startFirst: readonly RefusedFault[];
  /** Services whose `pull_policy` does not pull with every bundle, unlike in earlier versions. */
  kept: readonly { service: string; image: string; policy: string }[];
  /**
   * Networks of the project that differ from their definition, and networks that the release does not define, with
   * other users.
   */
  networks: Fact<{
    changed: readonly { name: string; why: string; users: readonly string[] }[];
    unused: readonly { name: string; users: readonly string[] }[];
  }>;
  /** Releases with files that neither their bundles nor the agent wrote, with some of the paths. */
  written: readonly { sha: Sha; paths: readonly string[] }[];
}

/** One check for each new default; a finding describes a change on this host. */
export function upgradeChecks(facts: Fact<UpgradeFacts | null>): Check[] {
  if ('unknown' in facts) return names.map((name) => unknownCheck(name, facts.unknown));
  if (facts.known === null) return names.map((name) => checkResult(name, 'nothing is applied', []));
  const { known } = facts;
  return [
    checkResult(names[0], 'no container can write to its bundle', writableFindings(known)),
    checkResult(names[1], 'no release has files of others', writtenFindings(known)),
    checkResult(names[2], 'no service becomes a job', jobFindings(known)),
    driftCheck(known),
    checkResult(names[4], 'every key has an effect', withoutEffectFindings(known)),
    checkResult(names[5], 'every image is pulled with every bundle', keptFindings(known)),
    networksCheck(known),
    checkResult(names[7], 'every service that asks for start-first can have it', startFirstFindings(known)),
  ];
}

const names = [
  'writable mounts',
  'kept releases',
  'jobs',
  'drift',
  'keys',
  'pull policies',
  'networks',
  'start-first',
] as const;

function networksCheck({ networks }: UpgradeFacts): Check {
  if ('unknown' in networks) return unknownCheck(names[6], networks.unknown);
  const { changed, unused } = networks.known;
  const free = 'disconnect or remove these containers before the next apply';
  const ofChanged = changed.map(({ name, why, users }) =>
    users.length === 0
      ? {
          problem: `network ${printable(name)}: ${printable(why)}: the next apply creates it again, with the services on it`,
          fix: 'apply in a maintenance window, or write into the bundle what the network has now',
        }
      : {
          problem: `network ${printable(name)}: ${printable(why)}: the next apply fails, since containers outside the project use it: ${users.map((user) => printable(user)).join(', ')}`,
          fix: free,
        },
  );
  const ofUnused = unused.map(({ name, users }) => ({
    problem:
      users.length === 0
        ? `network ${printable(name)}: no service uses it: the next apply removes it`
        : `network ${printable(name)}: no service uses it: the next apply leaves it to ${users.map((user) => printable(user)).join(', ')}`,
    fix:
      users.length === 0
        ? 'nothing, unless something outside the project needs it: then create a separate network for it'
        : free,
  }));
  return checkResult(names[6], 'every network is as the release defines it', [...ofChanged, ...ofUnused]);
}

function startFirstFindings({ startFirst }: UpgradeFacts): Finding[] {
  return startFirst.map(({ text, cure }) => ({
    problem: `${text}: it keeps running, and the next bundle that says so is refused`,
    fix: cure,
  }));
}

function keptFindings({ kept }: UpgradeFacts): Finding[] {
  return kept.map(({ service, image, policy }) => ({
    problem: `${printable(service)}: pull_policy ${printable(policy)} is honoured now: a bundle no longer pulls ${printable(image)} if it is on the host`,
    fix: 'leave pull_policy out, or write always, where its tag moves',
  }));
}

function withoutEffectFindings({ withoutEffect }: UpgradeFacts): Finding[] {
  return withoutEffect.map(({ text, cure }) => ({
    problem: `${text}: it keeps running, and the next bundle that says so is refused`,
    fix: cure,
  }));
}

function writableFindings({ dir, writable }: UpgradeFacts): Finding[] {
  return writable.map((path) => ({
    problem: `containers can write to ./${printable(path)} of the bundle: it keeps running, and the next bundle with this mount is refused`,
    fix: `mount it with :ro, or move its data from ${dir}/${printable(path)} into a named volume`,
  }));
}

function writtenFindings({ written }: UpgradeFacts): Finding[] {
  return written.map(({ sha, paths }) => ({
    problem: `release ${sha} has files that its bundle does not have (${paths.map((path) => printable(path)).join(', ')} …): it is no longer removed`,
    fix: 'copy what is needed, then: sudo deployd run --once --prune',
  }));
}

const reasons = {
  awaited: 'another service awaits its end',
  mode: 'deploy.mode is one of a job',
  restart: 'restart is no, and it has no healthcheck',
} as const;

function jobFindings({ services, recorded, jobTimeoutS }: UpgradeFacts): Finding[] {
  return services.flatMap(({ name, jobReason }) =>
    jobReason === null || recorded.has(name)
      ? []
      : {
          problem: `${printable(name)} is a job (${reasons[jobReason]}): the next apply waits up to ${jobTimeoutS} s until it ends with 0`,
          fix: 'raise job_timeout_s where it needs longer; a service that must keep running gets a restart policy or a healthcheck',
        },
  );
}

function driftCheck({ drifted, drift }: UpgradeFacts): Check {
  if ('unknown' in drifted) return unknownCheck(names[3], drifted.unknown);
  const effect = drift === 'heal' ? 'the second tick creates it again' : 'each tick reports it';
  const findings = drifted.known.map(({ service, detail }) => ({
    problem: `${printable(service)}: ${printable(detail)}: ${effect}`,
    fix: 'put the change into a bundle, or set drift: report',
  }));
  return checkResult(names[3], 'all containers match the release by image and content', findings);
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
        startFirst: settings.orchestrator === 'swarm' ? [] : startFirstFaults(project),
        kept: record.containers ? [] : keptImages(project.active),
        written: await writtenIn(releases, signal),
      },
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { unknown: error.message };
  }
}

/** By the files as written, without the values of variables. */
function startFirstFaults({ files, active }: ComposeProject): RefusedFault[] {
  const resolve = (text: string) => (text.includes('$') ? null : text);
  const services = readServices(active, resolve).filter((each) => replicasOf(each) > 0);
  const jobs = writtenServicesOf(active).filter(({ kind }) => kind === 'job');
  const bundle = { files, services, jobs: new Set(jobs.map(({ name }) => name)), resolve };
  return startFirstServices(bundle).flatMap(({ faults }) => faults);
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
