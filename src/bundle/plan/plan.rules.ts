import { type Refusal, type RefusalCode, refusalCodes, type RefusedFault } from '../../../machines/refusals.ts';
import type { Manifest, Sha } from '../../../machines/types.ts';
import type { Fact } from '../../core/doctor.rules.ts';
import { judgeComposePolicy } from '../policy/composePolicy.rules.ts';
import {
  anyHost,
  type EnginePolicyFacts,
  type OrchestratorName,
  type PermittedPrivilege,
  type PolicyHost,
} from '../policy/policyHost.rules.ts';
import type { Judgement } from '../policy/privileges.rules.ts';
import type { EngineMeans } from './bundleToStart.rules.ts';
import { type Change, changesOf, type ComparableRelease } from './changes.rules.ts';
import { replacementsOf, startFaultsOf } from './hostFaults.rules.ts';
import type { PlannedReplacement } from './startFirst.rules.ts';
import {
  type DiskSpace,
  type ExistingVolume,
  requiredBytes,
  validateDiskSpace,
  validateRollback,
  validateSwarmLogins,
  validateVolumes,
  type NewestApplied,
} from './hostState.rules.ts';
import { ignoredKeys } from './ignoredKeys.rules.ts';
import { type EngineImages, type PlannedPull, plannedPulls } from './images.rules.ts';
import type { FileHead } from './notices.rules.ts';
import { validateProfiles, validateReferences, validateSecretPaths } from './references.rules.ts';
import { ownedMountNotices } from './users.rules.ts';
import { shownSecrets, validateSignedKeys, validateVariables } from './variables.rules.ts';
import { type WaitLimits, type WaitPlan, waitPlanOf } from './waitPlan.rules.ts';
import type { Healthcheck } from './writtenServices.rules.ts';

/** The effects of an apply of a bundle on this host: the output of `deployd plan --json` (spec §2). */
export interface Plan {
  /** Null when the manifest cannot be used. */
  bundle: Pick<Manifest, 'name' | 'env' | 'version' | 'sequence'> | null;
  /** Null for a directory. */
  sha: Sha | null;
  /** One for each refusal code, in the order of a tick's lines. */
  refusals: Refusal[];
  /** The privileges in the files as written that only the host's policy permits, without a flag of the bundle. */
  permitted: PermittedPrivilege[];
  disk: { paths: readonly string[]; free_bytes: number | null; needed_bytes: number }[];
  /** The profiles that the bundle chooses, and the profiles of the applied release that it does not. */
  profiles: Change[];
  services: Change[];
  /**
   * How the services that change, or may change, are replaced; absent for a swarm. Without a host only services that ask
   * for start-first are listed.
   */
  replaced?: PlannedReplacement[];
  volumes: Change[];
  images: Change[];
  /** The pulls of the apply, by image; absent if the images on the host are unknown, or are verified first. */
  pulls?: PlannedPull[];
  /** How long an apply waits; absent when the manifest cannot be used. */
  wait?: WaitPlan;
  /** The keys of the compose files that the agent ignores. */
  ignored: string[];
  /** The variables that the bundle supplies itself, none of them secret. */
  variables: Manifest['variables'];
  /** Faults that are not refused, because the same content is already applied here, and would be refused for another bundle. */
  warnings: RefusedFault[];
  /** The parts that will probably not work; never a reason to refuse. */
  notices: RefusedFault[];
  /** The services that show values of secrets to others than their own containers. */
  shown: string[];
  /** The signers of the bundle; absent if no signatures were verified. */
  signers?: readonly string[];
  /** Checks that were not made; the plan says nothing about them. */
  not_judged: { codes: RefusalCode[]; why: string }[];
}

/** An unpacked bundle: its manifest, its compose files, and the refusals of reading them. */
export interface BundleFacts extends ComparableRelease {
  manifest: Manifest;
  refusals: Refusal[];
  /** Paths of the bundle's files and directories. */
  releaseFiles: ReadonlySet<string>;
  /** Bytes of its files. */
  fileSizes?: ReadonlyMap<string, number>;
  /** Paths of those that are executable. */
  executables?: ReadonlySet<string>;
  /** How the files that services run begin, by path; absent where nobody asks. */
  heads?: ReadonlyMap<string, FileHead>;
  /** True where the host has applied the same content, which may differ in the versions of secrets. */
  isApplied?: boolean;
}

/** The host that the bundle is for. */
export interface HostFacts {
  /** Its policy; with null as `paths` only the written paths are compared with the permits. */
  policyHost: PolicyHost;
  /** Null when nothing was ever applied. */
  newest: Fact<NewestApplied | null>;
  /** The applied release, null without one. */
  applied: Fact<ComparableRelease | null>;
  engine: Fact<{
    volumes: ExistingVolume[];
    /** Names of volumes that only failed attempts created; they are recreated when they diverge. */
    orphanedVolumes: readonly string[];
    /** Services with a container. */
    services: ReadonlySet<string>;
    policyFacts: EnginePolicyFacts;
    filesystems: DiskSpace['filesystems'];
    headroomBytes: number;
    /** The abilities of the engine, and the resources in use; absent if nobody asks. */
    means?: EngineMeans;
    /** The images of the bundle that it has; absent where they do not decide what is pulled. */
    images?: EngineImages;
    /** The healthchecks of its images, by reference. */
    imageHealthchecks?: ReadonlyMap<string, Healthcheck>;
  }>;
  /** Absent for no host. */
  waits?: WaitLimits;
}

const noFact = { unknown: 'there is no configuration, so no host to look at' };

/** Facts of no host, for a bundle that is validated by itself. */
export const noHost: HostFacts = {
  ...{ policyHost: anyHost, newest: noFact, applied: noFact, engine: noFact },
};

/** The rows of each orchestrator. */
const shownBy: Record<OrchestratorName, typeof shownSecrets> = { compose: () => [], swarm: shownSecrets };

/** Validates a bundle and collects all of its refusals (spec §9.1), for a tick and for `plan` alike. */
export function planOf(bundle: BundleFacts, host: HostFacts): Plan {
  const { manifest, sha, refusals } = bundle;
  const unusable = refusals.filter(({ code }) => code === 'MANIFEST_INVALID');
  if (unusable.length > 0) return abortedPlan(mergedByCode(unusable), sha);
  const { name, env, version, sequence } = manifest;
  const policy = judgePolicy(bundle, host.policyHost, 'known' in host.engine ? host.engine.known.policyFacts : {});
  const images = 'known' in host.engine ? (host.engine.known.imageHealthchecks ?? null) : null;
  const pulls = pullsOf(bundle, host);
  const { wait, refusal } = waitPlanOf(bundle, { limits: host.waits ?? null, images });
  const start = startFaultsOf(bundle, {
    orchestrator: host.policyHost.orchestrator,
    engine: 'known' in host.engine ? host.engine.known : null,
  });
  const found = [
    ...bundleRefusals(bundle, host),
    ...policy.refusals,
    ...hostRefusals(bundle, { host, pulls }),
    ...(refusal === null ? [] : [refusal]),
    ...start.refusals,
  ];
  const changes = changesOf(
    bundle,
    manifest.secrets.map((secret) => secret.var),
    {
      project: projectOf(manifest),
      applied: 'known' in host.applied ? { release: host.applied.known } : null,
      engine: 'known' in host.engine ? { ...host.engine.known, volumes: host.engine.known.volumes.map(nameOf) } : null,
    },
  );
  const isSwarm = host.policyHost.orchestrator === 'swarm';
  return {
    bundle: { name, env, version, sequence },
    sha,
    refusals: mergedByCode([...refusals, ...found]),
    permitted: policy.permitted,
    disk: diskSpaceOf(manifest, { host, pulls }),
    ...(pulls && { pulls }),
    ...changes,
    ...(!isSwarm && replacedServices(bundle, { host, changes: changes.services })),
    wait,
    variables: manifest.variables,
    ignored: ignoredKeys(bundle.project.files, projectOf(manifest), host.policyHost.orchestrator),
    warnings: policy.warnings,
    notices: [...start.notices, ...ownedMountNotices(bundle)],
    shown: shownBy[host.policyHost.orchestrator ?? 'compose'](
      bundle,
      manifest.secrets.map((secret) => secret.var),
    ),
    not_judged: [...digestNotCompared(sha), ...onlyApplyCanValidate, ...unknownFacts(host)],
  };
}

function replacedServices(
  bundle: BundleFacts,
  { host, changes }: { host: HostFacts; changes: Change[] },
): Pick<Plan, 'replaced'> {
  const replaced = replacementsOf(bundle, changes);
  if ('known' in host.applied) return { replaced };
  const asking = replaced.filter(({ order }) => order === 'start-first');
  return asking.length === 0 ? {} : { replaced: asking };
}

/** The plan of a bundle whose validation ended at its first refusal, so that nothing else is known. */
export function abortedPlan(refusals: Refusal[], sha: Sha | null): Plan {
  const code = refusals[0]?.code ?? 'MANIFEST_INVALID';
  const later = refusalCodes.slice(refusalCodes.indexOf(code) + 1);
  const ended = { codes: later, why: `the judgement ended with ${code}` };
  const nothing = {
    bundle: null,
    permitted: [],
    disk: [],
    profiles: [],
    services: [],
    volumes: [],
    images: [],
    variables: {},
    ignored: [],
    warnings: [],
    notices: [],
    shown: [],
  };
  return { ...nothing, sha, refusals, not_judged: [...digestNotCompared(sha), ended] };
}

/** The env of a manifest, '' without one. A bundle that is validated without a host is compared with it. */
export function manifestEnvOf(manifestText: string): string {
  try {
    const { env } = Object(JSON.parse(manifestText)) as { env?: unknown };
    return typeof env === 'string' ? env : '';
  } catch {
    return '';
  }
}

/** Validates a bundle against the policy of a host, with the known facts of its engine. */
export function judgePolicy(
  { manifest, project, releaseFiles, fileSizes, executables, isApplied = false, texts }: BundleFacts,
  policyHost: PolicyHost,
  ofEngine: Partial<EnginePolicyFacts> = {},
): Judgement {
  const ofBundle = {
    manifest,
    releaseFiles,
    texts,
    isApplied,
    ...(fileSizes && { fileSizes }),
    ...(executables && { executables }),
  };
  const facts = { ...ofBundle, projectName: projectOf(manifest) };
  return judgeComposePolicy(project, { ...facts, ...ofEngine, host: policyHost });
}

function bundleRefusals({ manifest, sha, project, texts }: BundleFacts, host: HostFacts): Refusal[] {
  const { policyHost, newest } = host;
  return [
    validateSecretPaths(manifest),
    validateVariables({ project, texts }, manifest),
    policyHost.requiresSignatures === true ? validateSignedKeys({ project, texts }, manifest) : null,
    validateProfiles(project, manifest),
    validateReferences(project, manifest),
    policyHost.orchestrator === 'swarm' ? validateSwarmLogins(manifest) : null,
    'known' in newest ? validateRollback({ manifest, sha }, newest.known, policyHost.policy.deny) : null,
  ].filter((each) => each !== null);
}

/** A host, and what an apply pulls there; null when that is not known. */
interface PullingHost {
  host: HostFacts;
  pulls: PlannedPull[] | null;
}

function pullsOf(bundle: BundleFacts, { engine }: HostFacts): PlannedPull[] | null {
  const images = 'known' in engine ? engine.known.images : undefined;
  return images === undefined ? null : plannedPulls(bundle, images);
}

/** The declared need; null where it is not declared, or nothing is pulled. */
function needBytesOf({ disk_need_bytes }: Manifest, pulls: PullingHost['pulls']): number | null {
  const pullsNothing = pulls?.every(({ pull }) => pull === 'local' || pull === 'absent') ?? false;
  return pullsNothing ? null : disk_need_bytes;
}

/** The checks of the engine: diverging volumes, and disk space for a pull. */
function hostRefusals({ manifest, project }: BundleFacts, { host: { engine }, pulls }: PullingHost): Refusal[] {
  if ('unknown' in engine) return [];
  const { volumes, orphanedVolumes, filesystems, headroomBytes } = engine.known;
  const keptVolumes = volumes.filter(({ name }) => !orphanedVolumes.includes(name));
  const volumeRefusal = validateVolumes(project.volumes, keptVolumes, projectOf(manifest));
  const diskRefusal = validateDiskSpace({ needBytes: needBytesOf(manifest, pulls), headroomBytes, filesystems });
  return [volumeRefusal, diskRefusal].filter((each) => each !== null);
}

/** Faults of one code that are listed. */
const maxListedFaults = 500;

/** One refusal for each code, in the order of `refusalCodes` (spec §9.1). */
function mergedByCode(refusals: Refusal[]): Refusal[] {
  return refusalCodes.flatMap((code) => {
    const faults = refusals
      .filter((each) => each.code === code)
      .flatMap((each) => each.faults ?? [{ text: each.detail, cure: '' }]);
    const unlisted = faults.slice(maxListedFaults).length;
    const more = unlisted > 0 ? [{ text: `and ${unlisted} more`, cure: 'correct these first' }] : [];
    const listed = [...faults.slice(0, maxListedFaults), ...more];
    return listed.length > 0 ? [{ code, detail: listed.map(({ text }) => text).join('; '), faults: listed }] : [];
  });
}

function diskSpaceOf(manifest: Manifest, { host: { engine }, pulls }: PullingHost): Plan['disk'] {
  if ('unknown' in engine) return [];
  const { filesystems, headroomBytes } = engine.known;
  const needed_bytes = requiredBytes({ needBytes: needBytesOf(manifest, pulls), headroomBytes });
  return filesystems.map(({ paths, freeBytes }) => ({ paths, free_bytes: freeBytes, needed_bytes }));
}

/** The digest can only be verified for an announced bundle. */
function digestNotCompared(sha: Sha | null): Plan['not_judged'] {
  return [
    sha === null
      ? {
          codes: ['BUNDLE_DIGEST', 'BUNDLE_UNSAFE'],
          why: 'a directory is not an archive; all its names and file types were checked',
        }
      : { codes: ['BUNDLE_DIGEST'], why: 'only an announced bundle has a digest to compare with' },
  ];
}

/** Checks that need the values of secrets or compose, so that only an apply can make them. */
const onlyApplyCanValidate: Plan['not_judged'] = [
  {
    codes: ['COMPOSE_REFUSED', 'PRIVILEGED_REFUSED', 'HOST_NETWORK_REFUSED'],
    why: 'the model that compose renders with the real values is validated by the tick before it promotes anything',
  },
  { codes: ['LEASE_SHAPE', 'SECRET_UNAVAILABLE', 'SECRET_UNUSABLE'], why: 'the secretstore is not contacted' },
];

const unfollowed = 'where links in the permitted paths lead was not looked at';

function unknownFacts({ newest, engine, policyHost }: HostFacts): Plan['not_judged'] {
  const rows: [Fact<unknown>, RefusalCode[]][] = [
    [newest, ['ROLLBACK_REFUSED']],
    [engine, ['VOLUME_DIVERGED', 'DISK_INSUFFICIENT']],
  ];
  const hasBinds = (policyHost.policy.permit.binds ?? []).length > 0;
  const links = hasBinds && policyHost.paths === null && { codes: ['PRIVILEGED_REFUSED' as const], why: unfollowed };
  const unknown = rows.flatMap(([fact, codes]) => ('unknown' in fact ? [{ codes, why: fact.unknown }] : []));
  return [...unknown, ...(links ? [links] : [])];
}

/** Compose project of an env. */
function projectOf({ env }: Manifest): string {
  return `deployd-${env}`;
}

function nameOf({ name }: { name: string }): string {
  return name;
}
