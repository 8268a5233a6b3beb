import { Fault } from '../../../../machines/fault.ts';
import type { RefusedFault } from '../../../../machines/refusals.ts';
import type { ServiceProblem } from '../../../../machines/types.ts';
import { readComposeFiles } from '../../../bundle/compose/composeFiles.ts';
import { executablesOf, pathsOf } from '../../../bundle/archive/inventory.rules.ts';
import { writablePaths } from '../../../bundle/compose/composeContents.rules.ts';
import { type ComposeFile, textOf } from '../../../bundle/compose/composeNode.rules.ts';
import { activeServiceLayers, effectiveValue } from '../../../bundle/compose/services.rules.ts';
import { faultsWithoutEffect } from '../../../bundle/policy/composePolicy.rules.ts';
import { anyHost } from '../../../bundle/policy/policyHost.rules.ts';
import { writtenServicesOf } from '../../../bundle/plan/writtenServices.rules.ts';
import type { Check, Fact } from '../../../core/doctor.rules.ts';
import { createCompose } from '../../adapters/compose/compose.ts';
import { createContainers } from '../../adapters/engine/containers.ts';
import { Releases } from '../../adapters/release/releases.ts';
import type { Settings } from '../../config/settings.ts';
import { upgradeChecks, type UpgradeFacts } from '../../rules/doctor/upgradeChecks.ts';
import { networkDefinitionsOf } from '../../rules/createdContainers/grantedPrivileges.ts';
import { planNetworks, unusedNetworks } from '../../rules/createdContainers/networkPlan.ts';
import { adoptable, describeUnknown } from '../../rules/health/drift.ts';
import { contentLabelsOf } from '../../rules/release/contentLabel.ts';
import type { ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import { catchFault } from '../catchFault.ts';
import type { DoctorContext } from './doctorContext.ts';

/** Names what the new defaults of this version would change on this host; changes nothing. */
export async function examineUpgrade(context: DoctorContext): Promise<Check[]> {
  return upgradeChecks(await factsOf(context));
}

async function factsOf({ host, settings, signal, vault }: DoctorContext): Promise<Fact<UpgradeFacts | null>> {
  if ('unknown' in host.state) return host.state;
  const { env, state_dir } = settings;
  const sha = host.state.known?.applied_sha ?? null;
  if (sha === null) return { known: null };
  if (env === undefined) return { unknown: 'the configuration does not say which env this is' };
  const releases = new Releases(state_dir, `${state_dir}/${env}`);
  try {
    const record = await releases.readRecord(sha);
    if (record === null) return { unknown: `release ${sha} is incomplete` };
    const dir = releases.pathOf(sha);
    const { files } = await readComposeFiles({ dir, manifest: record }, signal);
    const recorded = record.services.filter(({ kind }) => kind !== undefined).map(({ name }) => name);
    return {
      known: {
        dir,
        writable: writablePaths(files),
        services: writtenServicesOf(activeServiceLayers(files, record.profiles ?? [])),
        recorded: new Set(recorded),
        jobTimeoutS: settings.job_timeout_s,
        drifted: await driftedOf({ releases, record, settings, env }, signal),
        drift: settings.drift,
        networks: await networksOf({ releases, record, settings, env }, vault, signal),
        withoutEffect: await withoutEffectIn({ releases, record, settings, env }, { files, vault }, signal),
        kept: record.containers ? [] : keptImages(activeServiceLayers(files, record.profiles ?? [])),
        written: await writtenIn(releases, signal),
      },
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { unknown: error.message };
  }
}

/** Of a release that an earlier version applied, without images that are named by their digest, which never change. */
function keptImages(services: ReturnType<typeof activeServiceLayers>): UpgradeFacts['kept'] {
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

/** Of the files as written; versions that cannot be found out excuse nothing and refuse nothing. */
async function withoutEffectIn(
  { releases, record, settings, env }: ExaminedRelease,
  { files, vault }: { files: readonly ComposeFile[]; vault: DoctorContext['vault'] },
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
  return faultsWithoutEffect(files, {
    ...{ projectName: project, releaseFiles: pathsOf(contents) },
    ...(inventory && { executables: executablesOf(contents) }),
    ...(engine instanceof Fault ? {} : engine),
    host: { ...anyHost, composeVersion: version instanceof Fault ? null : version },
  });
}

/** By image and content alone: compose is not asked for hashes. Where containers are recorded, each tick looks already. */
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

/** By the model that compose renders now; an older agent has recorded none. */
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

/** Paths of a release that are named. */
const maxNamed = 3;

export async function writtenIn(releases: Releases, signal: AbortSignal): Promise<UpgradeFacts['written']> {
  const all = (await releases.listIfExists()).map(async (sha) => {
    return { sha, paths: await releases.writtenFiles(sha, maxNamed, signal) };
  });
  return (await Promise.all(all)).filter(({ paths }) => paths.length > 0);
}
