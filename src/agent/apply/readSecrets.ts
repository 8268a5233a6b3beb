import { Fault, isInterruption, refusedFault } from '../../../machines/fault.ts';
import type { Refusal } from '../../../machines/refusals.ts';
import type { ManifestSecret } from '../../../machines/types.ts';
import { readManifest } from '../../bundle/readBundle.ts';
import { monotonicMs } from '../../core/clock.ts';
import { unusableReason } from '../../api/manifest.rules.ts';
import { scopeOf } from '../../registry/imageReference.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import { type RegistryLogin, registryLoginsOf } from '../engine/registries.ts';
import { catchFault } from '../journal/journal.ts';
import type { Releases } from '../release/releases.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Tenancy } from '../transport/tenancy.ts';
import type { Secretstore } from '../token/secretstore.ts';
import type { Decision } from '../journal/trace.rules.ts';
import type { Carried } from '../release/orchestrator.ts';

/** Dependencies of reading the secrets of a bundle. */
export interface SecretsDependencies {
  readonly tenancy: Tenancy;
  readonly secretstore: Secretstore;
  readonly vault: Vault;
  readonly recordDecision: (decision: Decision) => void;
}

/** Obtains a lease, logs in and reads the secrets (spec §11); the values go only into the vault. Does nothing without secrets. */
export async function readSecrets(
  deps: SecretsDependencies,
  { bundle }: Carried<'bundle'>,
  signal: AbortSignal,
): Promise<Carried<'secrets'>> {
  const { secrets } = bundle.manifest;
  await readSecretsOf(deps, secrets, signal);
  return { secrets: secrets.map((secret) => secret.var) };
}

/** Reads some of the secrets of a manifest in the same way. */
export async function readSecretsOf(
  deps: SecretsDependencies,
  secrets: readonly ManifestSecret[],
  signal: AbortSignal,
): Promise<void> {
  if (secrets.length === 0) return;
  let usableUntil = await logIn(deps, signal);
  const refusals: Refusal[] = [];
  const entries = new Map<string, SecretEntry>();
  for (const secret of secrets) {
    if (monotonicMs() > usableUntil) usableUntil = await logIn(deps, signal);
    const entry = entries.get(keyOf(secret)) ?? (await readSecret(deps, secret, signal));
    entries.set(keyOf(secret), entry);
    const refusal = 'refusal' in entry ? entry.refusal : storeSecret(deps, secret, entry.data);
    if (refusal !== null) refusals.push(refusal);
  }
  if (refusals.length > 0) throw refusedFault(groupByCode(refusals));
  deps.recordDecision({ word: 'secrets-read', count: secrets.length });
}

/** Reads the logins of a release on this host for a registry. Throws a fault that says so if they cannot be read. */
export async function readLogins(
  deps: SecretsDependencies & { readonly settings: Settings; readonly releases: Releases },
  { sha, registry }: { sha: string; registry: string },
  signal: AbortSignal,
): Promise<RegistryLogin[]> {
  const parsed = await readManifest(deps.releases.pathOf(sha), deps.settings.env);
  if ('refusal' in parsed) return [];
  const registries = parsed.manifest.registries.filter((login) => scopeOf(login).registry === registry);
  const names = new Set(registries.flatMap(({ username_var, password_var }) => [username_var, password_var]));
  const secrets = parsed.manifest.secrets.filter((secret) => names.has(secret.var));
  const failure = await catchFault(() => readSecretsOf(deps, secrets, signal));
  if (failure instanceof Fault) {
    if (isInterruption(failure)) throw failure;
    throw new Fault('failed', `${registry} requires a login, which this tick cannot read: ${failure.message}`);
  }
  return registryLoginsOf(deps, { manifest: { registries } });
}

/** The part of a lease token's life in which it is used; the rest is for slow calls. */
const USED_PART = 2 / 3;

/** Logs in with a new lease; returns when to do so again, in milliseconds of the monotonic clock. */
async function logIn({ secretstore, tenancy, vault }: SecretsDependencies, signal: AbortSignal): Promise<number> {
  const startedMs = monotonicMs();
  const lease = await tenancy.lease('apply', signal);
  const login = await secretstore.login({ kind: 'lease', role: lease.role, jwt: lease.jwt }, signal);
  vault.setLeaseToken(login.token);
  return startedMs + login.ttlS * 1000 * USED_PART;
}

type SecretEntry = { data: Record<string, unknown> } | { refusal: Refusal };

async function readSecret(
  { secretstore, vault }: SecretsDependencies,
  secret: ManifestSecret,
  signal: AbortSignal,
): Promise<SecretEntry> {
  try {
    return await secretstore.read(secret, vault.leaseToken() ?? '', signal);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending !== 'refused') throw error;
    const code = error.code === 'SECRET_UNUSABLE' ? error.code : 'SECRET_UNAVAILABLE';
    return { refusal: { code, detail: error.message.replace(`refused: ${code}: `, '') } };
  }
}

function storeSecret(
  { vault }: SecretsDependencies,
  secret: ManifestSecret,
  data: Record<string, unknown>,
): Refusal | null {
  const location = `${secret.path} field ${secret.field}`;
  if (!Object.hasOwn(data, secret.field)) return { code: 'SECRET_UNAVAILABLE', detail: `${location} does not exist` };
  const value = data[secret.field];
  const reason = unusableReason(secret.var, value);
  if (reason !== null) return { code: 'SECRET_UNUSABLE', detail: `${location}: ${reason}` };
  vault.setValue(secret.var, value as string);
  return null;
}

/** Joins the details of each code to one refusal. */
function groupByCode(refusals: Refusal[]): Refusal[] {
  return (['SECRET_UNAVAILABLE', 'SECRET_UNUSABLE'] as const).flatMap((code) => {
    const details = new Set(refusals.filter((refusal) => refusal.code === code).map(({ detail }) => detail));
    return details.size > 0 ? [{ code, detail: [...details].join('; ') }] : [];
  });
}

function keyOf({ path, version }: ManifestSecret): string {
  return `${path}@${version ?? 'latest'}`;
}
