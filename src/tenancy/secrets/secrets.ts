import { deploySecrets } from '../bundles/repackBundle.ts';
import { type ApiError, conflict, notFound } from '../core/apiError.rules.ts';
import { auditEntry } from '../core/audit.ts';
import type { AuditCaller } from '../core/permission.rules.ts';
import { toTime } from '../core/lists.rules.ts';
import { secretsPending } from '../envs/envs.ts';
import { PatchForbidden, type Secretstore } from '../peers/secretstore.ts';
import type { BundleRow } from '../store/database.ts';
import { findEnv, findSecretsEnd } from '../store/envs.ts';
import { addPendingSteps, removeStep } from '../store/pendingSteps.ts';
import { addAuditEntry, newestChanges } from '../store/people.ts';
import type { SecretList } from './secretSchemas.ts';
import { requireNoRollout } from '../bundles/promotion.ts';
import type { RolloutDependencies } from '../rollouts/advance.ts';
import { abortRollout } from '../rollouts/rollback.ts';

/** Dependencies of secrets: the secretstore, the archives that deploy a changed secret, and the rollout that it may end. */
export interface SecretDependencies extends RolloutDependencies {
  readonly secretstore: Secretstore;
}

/** An action on one secret of an environment. */
export interface SecretAct {
  caller: AuditCaller;
  env: string;
  key: string;
}

/** Names of the secrets of an environment with their newest versions; throws 404 if the environment does not exist. */
export async function listSecrets({ store, secretstore }: SecretDependencies, env: string): Promise<SecretList> {
  const row = await findEnv(store, env);
  if (row === null) throw notFound('env');
  const secrets = await secretstore.listSecrets(env);
  const targets = secrets.flatMap(({ key, version }) => [versionPath({ env, key, version }), secretPath({ env, key })]);
  const changes = await newestChanges(store, env, targets);
  const views = secrets.map(({ key, version }) => {
    const written = changes.get(versionPath({ env, key, version }));
    // A secret that was destroyed since and exists again was written by someone else.
    const isKnown = written !== undefined && written.id > (changes.get(secretPath({ env, key }))?.id ?? 0);
    return {
      ...{ key, version, written_at: isKnown ? toTime(written.at) : null },
      written_by: isKnown ? written.actor : null,
    };
  });
  return { secrets: views, destroy_at: row.secrets_destroy_at === null ? null : toTime(row.secrets_destroy_at) };
}

/** New versions of secrets, and the bundle that deploys them; null if the desired bundle reads none of them. */
export interface WrittenSecrets {
  secrets: { path: string; version: number }[];
  bundle: BundleRow | null;
  /** Reasons why some hosts would refuse the new bundle. */
  warnings: string[];
}

/** Milliseconds after which any instance deploys what was written, if the instance that wrote it has died. */
const DEPLOY_WITHIN_MS = 60_000;

/** New values of secrets, by name and field. */
interface NewSecrets {
  caller: AuditCaller;
  env: string;
  secrets: Record<string, Record<string, string>>;
  /** The version that must be the newest one; 0 if there must be none. */
  ifVersion?: number | undefined;
  /** Whether fields that are not named are kept. */
  keepsFields?: boolean;
  overridesRollout?: boolean;
}

/**
 * Writes new versions of secrets. If the desired bundle reads any of them, a new bundle that pins these versions becomes
 * the desired one; the service repeats this until it succeeds. The values are sent only to the secretstore. Throws 404
 * if the environment does not exist, and 409 `ROLLOUT_ACTIVE`, `SECRETS_PENDING` and `SECRETS_DOOMED`,
 * `SECRET_CHANGED` if the newest version of a secret is not `ifVersion`, and `SECRETSTORE_OUTDATED` if the service may not
 * keep fields. With `overridesRollout` it first aborts the rollout of the environment, if it has one.
 */
export async function setSecrets(
  deps: SecretDependencies,
  { caller, env, secrets, ifVersion, keepsFields = false, overridesRollout = false }: NewSecrets,
): Promise<WrittenSecrets> {
  const row = await findEnv(deps.store, env);
  if (row === null) throw notFound('env');
  if (!overridesRollout) requireNoRollout(row);
  const end = await findSecretsEnd(deps.store, env);
  if (end !== null) throw secretsPending(env, end);
  if (row.rollout_id !== null) await abortRollout(deps, { caller: { ...caller, act: 'rollout.abort' }, env });
  const dueAt = deps.clock() + DEPLOY_WITHIN_MS;
  const acts = Object.keys(secrets).map((key): SecretAct => ({ caller, env, key }));
  await deps.store.transaction().execute(async (work) => {
    for (const act of acts) {
      await recordSecretAct({ ...deps, store: work }, act, { result: 'started' });
      await addPendingSteps(work, secretPath(act), { steps: ['deploySecret'], dueAt });
    }
  });
  const pins = new Map<string, number>();
  for (const act of acts) {
    const secret = { env, key: act.key, data: secrets[act.key] ?? {}, ifVersion, keepsFields };
    const version = await deps.secretstore.writeSecret(secret).catch((error: unknown) => {
      if (error instanceof PatchForbidden) return error;
      throw error;
    });
    if (typeof version !== 'number') {
      await removeStep(deps.store, { subject: secretPath(act), step: 'deploySecret', due_at: dueAt });
      throw version === null ? secretChanged(act, ifVersion) : secretstoreOutdated(act);
    }
    await recordSecretAct(deps, act, { result: 'ok', target: versionPath({ ...act, version }) });
    pins.set(secretPath(act), version);
  }
  const deployed = await deploySecrets(deps, { caller, env, pins });
  for (const subject of pins.keys()) await removeStep(deps.store, { subject, step: 'deploySecret', due_at: dueAt });
  const written = [...pins].map(([path, version]) => ({ path, version }));
  return { secrets: written, bundle: deployed?.bundle ?? null, warnings: deployed?.warnings ?? [] };
}

function secretChanged({ env, key }: SecretAct, ifVersion = 0): ApiError {
  const expected = ifVersion === 0 ? `${key} already exists` : `the newest version of ${key} is not ${ifVersion}`;
  return conflict({ code: 'SECRET_CHANGED', message: `${expected}: nothing was written`, env });
}

function secretstoreOutdated({ env, key }: SecretAct): ApiError {
  const message = `the policy of the service does not allow to keep the other fields of ${key}: nothing was written`;
  return conflict({ code: 'SECRETSTORE_OUTDATED', message, env });
}

/** Destroys all versions of a secret; throws 404 if it does not exist. */
export async function deleteSecret(deps: SecretDependencies, act: SecretAct): Promise<void> {
  if ((await findEnv(deps.store, act.env)) === null) throw notFound('env');
  await recordSecretAct(deps, act, { result: 'started' });
  const existed = await deps.secretstore.destroySecret(act.env, act.key);
  const missing = notFound('secret');
  await recordSecretAct(deps, act, { result: existed ? 'ok' : missing.fields.code });
  if (!existed) throw missing;
}

/**
 * Adds the result of an action to the audit log. The secretstore does not take part in transactions, so a `started`
 * entry comes first.
 */
function recordSecretAct(
  deps: SecretDependencies,
  act: SecretAct,
  { result, target = secretPath(act) }: { result: string; target?: string },
): Promise<void> {
  return addAuditEntry(deps.store, { ...auditEntry(deps, act.caller, { target, env: act.env }), result });
}

/** A version of a secret in the audit log; no name contains an `@`. */
function versionPath({ version, ...secret }: Pick<SecretAct, 'env' | 'key'> & { version: number }): string {
  return `${secretPath(secret)}@${version}`;
}

/** Path of a secret in manifests and in the audit log. */
export function secretPath({ env, key }: Pick<SecretAct, 'env' | 'key'>): string {
  return `deployd/data/${env}/see/${key}`;
}
