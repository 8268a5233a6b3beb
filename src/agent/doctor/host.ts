import { access, constants, lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Fault } from '../../../machines/fault.ts';
import type { Violation } from '../../api/agentSchemas.ts';
import { isDefaultPolicy } from '../../api/hostPolicy.rules.ts';
import { fileFactsOf, groupName, ownerOf, runHostProgram } from '../../core/accounts.ts';
import {
  type Check,
  checkConfig,
  checkStateDir,
  type DiskSpaceFacts,
  type Fact,
  type FileFacts,
  type Finding,
  inapplicableCheck,
  type ProgramUser,
  unknownCheck,
} from '../../core/doctor.rules.ts';
import { isENOENT } from '../../core/errors.rules.ts';
import { fingerprintsOf } from '../../signatures/judgement.rules.ts';
import { readTrust, readTrustNow, trustViolations } from '../../signatures/signatureFiles.ts';
import { engineSocketsOf, policyDigest, protectedPathsOf, targetOf } from '../apply/policyHost.ts';
import type { AgentScope } from '../config/namedEnvs.ts';
import type { Settings } from '../config/configKeys.ts';
import { identityLifeOf } from '../transport/transport.ts';
import { type Containers, createContainers } from '../engine/containers.ts';
import { catchFault } from '../journal/journal.ts';
import { Releases } from '../release/releases.ts';
import type { Vault } from '../secrets/vault.ts';
import { readTextIfExists } from '../state/fileSystem.ts';
import { readState } from '../state/stateFile.ts';
import { trustsOf } from '../status/status.rules.ts';
import {
  checkCredentialFiles,
  checkPolicy,
  checkTrust,
  permittedDirectory,
  type PolicyCheckFacts,
  type TrustCheckFacts,
} from './host.rules.ts';
import { checkIdentity, inapplicableForTransport } from './network.rules.ts';
import type { CheckContext } from './ticks.rules.ts';
import { filesystemsOf } from '../../core/files.ts';
import { filesystemsOfPull } from '../apply/bundlePlan.ts';

/** Input of the checks: the configuration, which may be partly invalid. */
export interface DoctorInput {
  configPath: string;
  scope: AgentScope;
  /** One line for each error of the configuration. */
  problems: string[];
  /** Its valid settings, and the defaults. */
  settings: Partial<Settings> & DefaultedSettings;
  version: string;
  vault: Vault;
  signal: AbortSignal;
}

/** Settings with a default, which replaces an invalid value. */
type DefaultedSettings = Omit<Settings, 'env' | 'site' | 'transport' | 'tenancy_url' | 'secretstore_url'>;

/** Context of all checks. */
export interface DoctorContext extends DoctorInput {
  host: CheckContext;
  /** The fault of state.json; null when it is valid or missing. */
  stateFinding: Finding | null;
  /** Why the state directory cannot be read; null when it can. */
  inaccessible: string | null;
  /** The version of the engine if it is Podman; null for Docker, or without an answer. */
  podman: string | null;
}

/** Reads the state directory; its owner is the agent's user. */
export async function doctorContextOf(input: DoctorInput): Promise<DoctorContext> {
  const { state_dir } = input.settings;
  const user = input.scope === 'user' ? await ownerOf(dirname(input.configPath)) : null;
  const agent = (await ownerOf(state_dir)) ?? user ?? packagedAgent;
  const inaccessible = (await isAccessible(state_dir)) ? null : `${state_dir} is for ${agent.name} alone: use sudo`;
  const podman = await containersOf(input).podmanVersion();
  const context = { ...input, inaccessible, podman, stateFinding: null };
  const host = { now: new Date(), agent };
  if (inaccessible !== null) return { ...context, host: { ...host, state: { unknown: inaccessible } } };
  const state = await readState(state_dir).catch(findingOf);
  if (state === null || 'schema' in state) return { ...context, host: { ...host, state: { known: state } } };
  const stateFinding =
    'problem' in state ? state : { problem: `STATE_CORRUPT: ${state.fault}`, fix: 'sudo deployd run --once' };
  return { ...context, stateFinding, host: { ...host, state: { unknown: stateFinding.problem } } };
}

/** The containers of the host's environment, which may be missing in an invalid configuration. */
export function containersOf({ settings, signal }: Pick<DoctorInput, 'settings' | 'signal'>): Containers {
  const { env = 'unknown', container_host: containerHost } = settings;
  return createContainers({ containerHost, project: `deployd-${env}`, signal });
}

/** The user that the package creates; used only in the text of fixes. */
const packagedAgent: ProgramUser = { name: 'deployd', uid: -1, gids: [] };

function findingOf(error: unknown): Finding {
  if (!(error instanceof Fault)) throw error;
  return { problem: error.message, fix: 'sudo dmesg --level=err,warn | tail' };
}

async function isAccessible(dir: string): Promise<boolean> {
  return access(dir, constants.R_OK | constants.X_OK).then(() => true, isENOENT);
}

/** Checks the configuration. */
export async function examineConfig({ configPath, problems, host }: DoctorContext): Promise<Check> {
  return checkConfig({ file: await fileFactsOf(configPath, host.agent), problems }, host.agent);
}

/** Checks the state directory and the credential files. */
export async function checkFiles({ inaccessible, host, settings }: DoctorContext): Promise<Check[]> {
  const { agent } = host;
  const factsOf = (path: string) => fileFactsOf(path, agent);
  const dir = await factsOf(settings.state_dir);
  const foreign = inaccessible === null ? await foreignFilesIn(settings.state_dir, agent) : [];
  return [
    checkStateDir({ dir: inaccessible === null ? dir : { ...dir, found: 'hidden' }, foreignEntries: foreign }, agent),
    checkCredentialFiles(
      await factsOf(join(settings.state_dir, 'store.token')),
      await factsOf(settings.bootstrap_file),
      agent,
    ),
  ];
}

/** Checks the mesh identity, which the agent reads with the transport `sdk`, and the tunneller with `proxy`. */
export async function examineIdentity({ host, settings }: DoctorContext): Promise<Check> {
  const { transport = 'unknown', mesh } = settings;
  if (transport !== 'sdk' && transport !== 'proxy') return inapplicableForTransport('mesh identity', transport);
  const file = await fileFactsOf(mesh.identity_file, host.agent);
  const group = groupOf(file);
  const [isIdentity, watched] = [await holdsIdentity(file.path), await isWatched()];
  const life = await identityLifeOf({ transport, mesh });
  return checkIdentity({ file, group, isIdentity, watched, life }, { agent: host.agent, now: host.now, transport });
}

/** Name of a file's group; empty when the file is missing or hidden. */
export function groupOf({ found }: FileFacts): string {
  return found === null || found === 'hidden' ? '' : groupName(found.gid);
}

/** Entries of a directory that another user owns. */
async function foreignFilesIn(dir: string, { uid }: ProgramUser): Promise<string[]> {
  const names = await readdir(dir).catch(() => []);
  const owners = await Promise.all(
    names.map(async (name) => ({ path: join(dir, name), uid: (await lstat(join(dir, name)).catch(() => null))?.uid })),
  );
  return owners.filter((entry) => entry.uid !== undefined && entry.uid !== uid).map(({ path }) => path);
}

async function holdsIdentity(path: string): Promise<boolean | null> {
  const text = await readTextIfExists(path).catch(() => null);
  if (text === null) return null;
  try {
    const { id } = Object(JSON.parse(text)) as { id?: { cert?: unknown; key?: unknown } };
    return typeof id?.cert === 'string' && typeof id.key === 'string';
  } catch {
    return false;
  }
}

async function isWatched(): Promise<Fact<boolean>> {
  const { stdout } = await runHostProgram([
    'systemctl',
    'show',
    'deployd-identity-acl.path',
    '--property=LoadState,ActiveState',
  ]);
  if (!stdout.includes('LoadState=loaded')) return { unknown: 'the unit is not installed here' };
  return { known: stdout.includes('ActiveState=active') };
}

/** Checks the keys and trust roots that verify the signatures of bundles and images, and who signed what runs here. */
export async function examineTrust(context: DoctorContext): Promise<Check> {
  const { configPath, host, settings } = context;
  const trusts = trustsOf(settings.trust);
  if (trusts.length === 0) return inapplicableCheck('trust', 'bundles and images need no signature here');
  const fingerprints = fingerprintsOf(readTrustNow(settings.trust));
  const facts = trusts.map(async ([signed, own]): Promise<TrustCheckFacts> => {
    const { problems, rootEnds } = await readTrust(own);
    return { ...{ signed, settings: own, configPath, problems, rootEnds, fingerprints }, now: host.now };
  });
  const check = checkTrust(await Promise.all(facts), await violationsOf(context));
  return 'unknown' in host.state && check.findings.length === 0 ? unknownCheck('trust', host.state.unknown) : check;
}

async function violationsOf({ host, settings }: DoctorContext): Promise<Violation[]> {
  const state = 'known' in host.state ? host.state.known : null;
  if (state === null || state.applied_sha === null || state.env !== settings.env) return [];
  const releases = new Releases(settings.state_dir, join(settings.state_dir, state.env));
  const services = (await releases.readRecord(state.applied_sha))?.services ?? [];
  return trustViolations(settings.trust, { ...state, services: services.map(({ name }) => name) });
}

/** Checks the host's policy against its paths and the engine's networks and volumes. */
export async function examinePolicy(context: DoctorContext): Promise<Check> {
  const violations = unpermittedIn(context);
  if (isDefaultPolicy(context.settings.policy) && violations?.length === 0)
    return inapplicableCheck('policy', 'none is configured');
  const facts = await catchFault(() => policyFacts(context));
  return facts instanceof Fault ? unknownCheck('policy', facts.message) : checkPolicy(facts);
}

/** Null if the applied bundle was checked by another policy. */
function unpermittedIn({ host: { state }, settings }: DoctorContext): PolicyCheckFacts['violations'] {
  const { applied_sha = null, judged } = ('known' in state ? state.known : null) ?? {};
  if (applied_sha === null || judged === undefined) return [];
  return judged.digest === policyDigest(settings, applied_sha) ? judged.violations : null;
}

async function policyFacts(context: DoctorContext): Promise<PolicyCheckFacts> {
  const { configPath } = context;
  const settings = { env: 'unknown', ...context.settings } as Settings;
  const { policy } = settings;
  const containers = containersOf(context);
  const { networks, volumes } = (await containers.policyFacts()).outside;
  const paths = (policy.permit.binds ?? []).map(permittedDirectory);
  return {
    ...{ policy, configPath, networks, volumes },
    violations: unpermittedIn(context),
    protectedPaths: await protectedPathsOf({ settings, containers, engineSockets: await engineSocketsOf(settings) }),
    targets: new Map(await Promise.all(paths.map(async (path) => [path, await targetOf(path)] as const))),
  };
}

/** Minimum free space of the state directory, in bytes. */
const minStateBytes = 64 * 2 ** 20;

export async function diskSpacesOf(
  filesystems: Awaited<ReturnType<typeof filesystemsOfPull>>,
  settings: Settings,
): Promise<Fact<DiskSpaceFacts[]>> {
  const forImages = { neededBytes: settings.disk.headroom_bytes, purpose: 'images' as const };
  const forState = { neededBytes: minStateBytes, purpose: 'state' as const };
  const stateFilesystems = await filesystemsOf([settings.state_dir]);
  return {
    known: [
      ...filesystems.map((each) => ({ ...each, ...forImages })),
      ...stateFilesystems.map((each) => ({ ...each, ...forState })),
    ],
  };
}
