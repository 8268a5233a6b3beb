import { createHash, createHmac, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { Fault, isInterruption } from '../../../machines/fault.ts';
import { diskFault, isENOENT } from '../../core/errors.rules.ts';
import { readRegularFile } from '../../core/files.ts';
import type { Compose, ComposeRelease } from '../engine/compose.ts';
import { writeDurably } from '../state/durableFiles.ts';
import {
  type GrantedPrivileges,
  grantedPrivilegesOf,
  hideSecrets,
  type NetworkDefinitions,
  networkDefinitionsOf,
} from './grantedPrivileges.rules.ts';
import type { EnvDigest } from './record.rules.ts';
import {
  type OneShot,
  serviceDefinitionsOf,
  type ServiceFingerprint,
  type ServiceFingerprints,
  unchangedOneShots,
} from './services.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Releases } from './releases.ts';
import type { Vault } from '../secrets/vault.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Orchestrator } from './orchestrator.ts';
import type { RunningTick } from '../journal/journal.ts';

/** The files of releases, and the directory of the key of digests. */
interface ReleaseFiles {
  readonly settings: Settings;
  readonly releases: Releases;
}

interface SecretHider {
  readonly settings: Settings;
  readonly vault: Vault;
}

interface ModelReader extends ReleaseFiles, SecretHider {
  readonly compose: Compose;
}

interface OneShotHistory {
  readonly releases: Releases;
  readonly state: StateStore;
}

interface OneShotRecorder {
  readonly releases: Releases;
  readonly orchestrator: Orchestrator;
  readonly tick: RunningTick;
}

/** Digests with this host's own key: they compare values that may be secret and reveal nothing about them (spec §12). */
interface KeyedDigest {
  /** HMAC-SHA256 of a text, in hex. */
  of: (text: string) => string;
  /** Identifies the key, which is replaced when `label.salt` is lost. */
  keyId: string;
}

/** Loads the key of the host. Throws a Fault when it cannot be read or created. */
export async function loadKeyedDigest({ settings }: { settings: Settings }): Promise<KeyedDigest> {
  const key = await loadLabelSalt(join(settings.state_dir, settings.env));
  return {
    of: (text) => createHmac('sha256', key).update(text).digest('hex'),
    keyId: createHash('sha256').update(key).digest('hex').slice(0, 16),
  };
}

const SALT_BYTES = 32;

/**
 * The host's key for content labels and env digests, 32 random bytes in `label.salt` (0600), created at first use (spec
 * §12). Throws a Fault when it exists but cannot be read, or cannot be written.
 */
async function loadLabelSalt(dir: string): Promise<Buffer> {
  const path = join(dir, 'label.salt');
  const existing = readSalt(path);
  if (existing?.length === SALT_BYTES) return existing;
  const salt = randomBytes(SALT_BYTES);
  await writeDurably(path, salt, 0o600);
  return salt;
}

function readSalt(path: string): Buffer | null {
  try {
    return readRegularFile(path, SALT_BYTES);
  } catch (error) {
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  }
}

/** Size and keyed digest of a release's `.env`, which detect a change (spec §12). */
export async function envDigestOf(deps: { settings: Settings }, env: string): Promise<EnvDigest> {
  const digest = await loadKeyedDigest(deps);
  return { bytes: Buffer.byteLength(env), mac: digest.of(env), key: digest.keyId };
}

/** False when the `.env` of a release is missing or was changed. After the loss of the key only the sizes are compared. */
export async function isEnvUnchanged(deps: ReleaseFiles, sha: string): Promise<boolean> {
  const env = await deps.releases.readEnv(sha);
  const recorded = (await deps.releases.readRecord(sha))?.env;
  if (env === null || recorded === undefined) return env !== null;
  const found = await envDigestOf(deps, env);
  return found.bytes === recorded.bytes && (found.key !== recorded.key || found.mac === recorded.mac);
}

/** A fingerprint of each service of a rendered model with its files in `dir`: keyed digests, since the model contains secrets. */
export async function fingerprintsOf(deps: SecretHider, dir: string, model: unknown): Promise<ServiceFingerprints> {
  const digest = await loadKeyedDigest(deps);
  const services = [...serviceDefinitionsOf(model, dir)].map(([service, { text, image, ...definition }]) => {
    return [service, { ...definition, image: deps.vault.conceal(image), fingerprint: digest.of(text) }] as const;
  });
  return new Map(services);
}

/** The fingerprints with the mounted content of each service, by the labels of the override. */
export function withContentLabels(services: ServiceFingerprints, override: string): ServiceFingerprints {
  const labels = labelsIn(override);
  return new Map(
    [...services].map(([service, definition]): [string, ServiceFingerprint] => {
      return [service, { ...definition, fingerprint: `${definition.fingerprint}-${labels.get(service) ?? ''}` }];
    }),
  );
}

/**
 * One-shots that need not run in the rendered release: they finished in the applied release, or in an earlier attempt of this
 * one, and neither their definition nor their mounted content changed.
 */
export async function oneShotsToSkip(
  { releases, state }: OneShotHistory,
  sha: string,
  services: ServiceFingerprints,
): Promise<OneShot[]> {
  const { applied_sha, attempt, failing } = state.state;
  const isOwn = [applied_sha ?? sha, attempt?.sha, failing?.sha].includes(sha);
  const shas = [...(applied_sha === null ? [] : [applied_sha]), ...(isOwn ? [sha] : [])];
  const records = await Promise.all(shas.map((each) => releases.readRecord(each)));
  return unchangedOneShots(
    services,
    records.flatMap((record) => record?.jobs ?? []),
  );
}

/** Records the finished one-shots of a failed bundle, so that its retry does not run them again. */
export async function recordFinishedOneShots(
  deps: OneShotRecorder,
  sha: string,
  services: ServiceFingerprints | null,
): Promise<void> {
  try {
    const record = await deps.releases.readRecord(sha);
    if (record === null) return;
    const jobs = await deps.orchestrator.finishedOneShots(record, services);
    await deps.releases.writeRecord(sha, { ...record, jobs });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    deps.tick.journal.warn(`jobs of ${sha} may run again: ${error.message}`);
  }
}

/** Clears the finished one-shots of a release after a down, so that they run again. */
export async function resetOneShots({ releases }: { releases: Releases }, sha: string): Promise<void> {
  const record = await releases.readRecord(sha);
  if (record?.jobs?.length || record?.ended?.length)
    await releases.writeRecord(sha, { ...record, jobs: [], ended: [] });
}

function labelsIn(override: string): Map<string, string> {
  const { services } = JSON.parse(override) as { services: Record<string, { labels?: Record<string, string> }> };
  return new Map(Object.entries(services).map(([service, { labels }]) => [service, JSON.stringify(labels ?? {})]));
}

/** Replaces a text that contains a secret with its keyed digest, which can be compared and reveals nothing. */
export async function createSecretHasher(deps: { settings: Settings }): Promise<(text: string) => string> {
  const digest = await loadKeyedDigest(deps);
  return (text) => `hidden ${digest.of(text)}`;
}

/** The granted privileges with secrets replaced by digests, so that they may be written to a file. */
export async function withoutSecrets(deps: SecretHider, granted: GrantedPrivileges): Promise<GrantedPrivileges> {
  const hide = await createSecretHasher(deps);
  return hideSecrets(granted, (text) => (deps.vault.isSecretFree(text) ? text : hide(text)));
}

/** Privileges that the model of a release grants: recorded at validation or, for releases without a record, rendered now. */
export async function readGrantedPrivileges(
  deps: ModelReader,
  { sha, release }: { sha: string; release: ComposeRelease },
  signal: AbortSignal,
): Promise<GrantedPrivileges> {
  const recorded = await deps.releases.readGrantedPrivileges(sha);
  if (recorded !== null) return recorded;
  const model = await deps.compose.renderModel(release, signal);
  const granted = await withoutSecrets(deps, grantedPrivilegesOf(model, release.dir));
  await deps.releases.writeGrantedPrivileges(sha, granted);
  return granted;
}

/**
 * The configurations of a release's networks, as `readGrantedPrivileges`; null where an older version recorded the release and
 * compose cannot render it now.
 */
export async function readNetworkDefinitions(
  deps: ModelReader,
  { sha, release }: { sha: string; release: ComposeRelease },
  signal: AbortSignal,
): Promise<NetworkDefinitions | null> {
  try {
    const granted = await readGrantedPrivileges(deps, { sha, release }, signal);
    if (granted.definitions) return granted.definitions;
    const definitions = networkDefinitionsOf(await deps.compose.renderModel(release, signal));
    const completed = await withoutSecrets(deps, { ...granted, definitions });
    await deps.releases.writeGrantedPrivileges(sha, completed);
    return completed.definitions ?? null;
  } catch (error) {
    if (!(error instanceof Fault) || isInterruption(error)) throw error;
    return null;
  }
}
