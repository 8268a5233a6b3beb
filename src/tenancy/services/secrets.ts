import { addAuditEntry } from '../store/audit.ts';
import type { BundleRow } from '../store/database.ts';
import { findEnv } from '../store/envs.ts';
import { areSecretsDoomed } from '../store/pendingSteps.ts';
import { notFound } from './apiError.ts';
import { auditEntry } from './audit.ts';
import { repackBundle } from './bundles/repackBundle.ts';
import type { Dependencies } from './dependencies.ts';
import { secretsPending } from './envs.ts';
import type { AuditCaller } from './operator.ts';

/** An act on one secret of an env. */
export interface SecretAct {
  caller: AuditCaller;
  env: string;
  key: string;
}

/** Names of the secrets of an env with their newest versions; throws 404 without the env. */
export async function listSecrets(
  { store, secretstore }: Dependencies,
  env: string,
): Promise<{ key: string; version: number }[]> {
  if ((await findEnv(store, env)) === null) throw notFound('env');
  return secretstore.listSecrets(env);
}

/** A version of a secret, and the bundle that was made to deploy it; null if the desired one does not read it. */
export interface SecretVersion {
  path: string;
  version: number;
  bundle: BundleRow | null;
}

/**
 * Writes a new version of a secret; then, if the desired bundle reads it, a new bundle that pins this version becomes the
 * desired one. The values go to the secretstore and nowhere else. Throws 404 without the env.
 */
export async function setSecret(
  deps: Dependencies,
  { data, ...act }: SecretAct & { data: Record<string, string> },
): Promise<SecretVersion> {
  const { caller, env, key } = act;
  if ((await findEnv(deps.store, env)) === null) throw notFound('env');
  if (await areSecretsDoomed(deps.store, env)) throw secretsPending(env);
  const version = await deps.secretstore.writeSecret({ env, key, data });
  await recordSecretAct(deps, act);
  const path = pathOf(act);
  return { path, version, bundle: await repackBundle(deps, { caller, env, path, version }) };
}

/** Destroys all versions of a secret; throws 404 if there is none. */
export async function deleteSecret(deps: Dependencies, act: SecretAct): Promise<void> {
  if ((await findEnv(deps.store, act.env)) === null) throw notFound('env');
  if (!(await deps.secretstore.destroySecret(act.env, act.key))) throw notFound('secret');
  await recordSecretAct(deps, act);
}

function recordSecretAct(deps: Dependencies, act: SecretAct): Promise<void> {
  return addAuditEntry(deps.store, auditEntry(deps, act.caller, { target: pathOf(act), env: act.env }));
}

function pathOf({ env, key }: SecretAct): string {
  return `deployd/data/${env}/see/${key}`;
}
