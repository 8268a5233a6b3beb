import { setImmediate } from 'node:timers/promises';
import { subjectPattern } from '../../api/trust.rules.ts';
import { type BundleTrust, plainPem, readPublicKey } from '../../signatures/trust.ts';
import { type CheckInRequest, maxPushedSequence } from '../../api/checkIn.rules.ts';
import { settingsDifference } from '../bundles/hostPolicies.rules.ts';
import { expectedSettings, viewBundles } from '../bundles/bundleList.ts';
import { listCheckIns, setDiffering } from '../store/agents.ts';
import { announce } from '../webhooks/deliver.ts';
import { ApiError, conflict, notFound } from '../core/apiError.rules.ts';
import { type AuditDependencies, auditEntry } from '../core/audit.ts';
import { toTime } from '../core/lists.rules.ts';
import { type AuditCaller, type Operator, visibleEnvs } from '../core/permission.rules.ts';
import { findBundle, findNewestBundle, listDigests, listSignatures, setSigner } from '../store/bundles.ts';
import type { BundleRow, EnvRow, RecordedSettings, SecretsChoice, SignatureRow } from '../store/database.ts';
import {
  type BackendCount,
  chooseSecrets,
  countBackends,
  findBundleTrust,
  findEnv,
  findSecretsEnd,
  hasRemainingBackends,
  highestSequence,
  createEnv as insertEnv,
  lockEnv,
  markEnvDeleted,
  listEnvs as selectEnvs,
  setBundleTrust,
  setDesiredSha,
  setSequences,
} from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { addPendingSteps } from '../store/pendingSteps.ts';
import { addAuditEntry } from '../store/people.ts';
import type { Env, EnvDetails, Trust } from './envSchemas.ts';
import { lockPromotable, overrideRollout, type Promotion, requireNoRollout } from '../bundles/promotion.ts';
import { takeSequence } from '../bundles/repackBundle.ts';

/** An action on an environment. */
interface EnvAct {
  caller: AuditCaller;
  env: string;
}

/**
 * Creates an environment; throws 409 `ENV_EXISTS`, or `SECRETS_PENDING` while the secrets of a deleted one with this
 * name are being destroyed.
 */
export async function createEnv(
  deps: AuditDependencies,
  { caller, env, production }: EnvAct & { production: boolean },
): Promise<EnvDetails> {
  await deps.store.transaction().execute(async (work) => {
    if (!(await insertEnv(work, env, production))) {
      throw conflict({ code: 'ENV_EXISTS', message: 'an environment with this name exists', env });
    }
    if ((await findSecretsEnd(work, env)) !== null) throw secretsPending(env, 'destroying');
    await addAuditEntry(work, auditEntry(deps, caller, { target: env, env }));
  });
  return readEnv(deps, env);
}

/**
 * Deletes an environment and destroys its secrets; throws 404, and 409 while it has a rollout or backends that are not
 * retired.
 */
export async function deleteEnv(deps: AuditDependencies, { caller, env }: EnvAct): Promise<void> {
  const now = deps.clock();
  await deps.store.transaction().execute(async (work) => {
    const row = await lockEnv(work, env);
    if (row === null) throw notFound('env');
    requireNoRollout(row);
    // Without this environment, nothing is left to wait for.
    if ((await findSecretsEnd(work, env)) === 'doomed') await chooseSecrets(work, row, { choice: null, now });
    const inUse = (await countBackends(work, [env])).filter(({ state }) => state !== 'retired');
    if (inUse.length > 0) {
      const message = `it has hosts: ${inUse.map(({ state, backends }) => `${backends} ${state}`).join(', ')}`;
      throw conflict({ code: 'ENV_IN_USE', message, env });
    }
    await markEnvDeleted(work, env, now);
    await addPendingSteps(work, env, { steps: ['destroyEnvSecrets'], dueAt: now });
    await addAuditEntry(work, auditEntry(deps, caller, { target: env, env }));
  });
}

/**
 * Makes a bundle, or none, the desired one of an environment; throws like `lockPromotable`. With `override_rollout` it
 * takes the place of a rollout, which is aborted.
 */
export async function setDesired(
  deps: AuditDependencies,
  { caller, override_rollout = false, ...promotion }: EnvAct & Promotion & { override_rollout?: boolean },
): Promise<EnvDetails> {
  const { env, sha256 } = promotion;
  await deps.store.transaction().execute(async (work) => {
    if (override_rollout) await overrideRollout(deps, work, { caller, env });
    const { desired_sha } = await lockPromotable(work, promotion);
    await setDesiredSha(work, env, sha256, { since: deps.clock() });
    const change = [desired_sha ?? 'none', sha256 ?? 'none'] as const;
    await addAuditEntry(work, auditEntry(deps, caller, { target: sha256 ?? 'none', env, change }));
  });
  return readEnv(deps, env);
}

/** Reserves the next sequence for a bundle of an environment; throws as `takeSequence`. */
export async function reserveSequence(deps: AuditDependencies, { caller, env }: EnvAct): Promise<number> {
  return deps.store.transaction().execute(async (work) => {
    const sequence = await takeSequence({ store: work }, env);
    await addAuditEntry(work, auditEntry(deps, caller, { target: String(sequence), env }));
    return sequence;
  });
}

/**
 * Sets the sequence of an environment, for example after somebody had bundles signed with the largest one. Bundles above
 * 2^47 do not count. Throws 404, and 409 `SEQUENCE_STALE` if another bundle has a higher sequence.
 */
export async function setSequence(
  deps: AuditDependencies,
  { caller, env, sequence }: EnvAct & { sequence: number },
): Promise<EnvDetails> {
  await deps.store.transaction().execute(async (work) => {
    const row = await lockEnv(work, env);
    if (row === null) throw notFound('env');
    const highest = await highestSequence(work, env, maxPushedSequence);
    if (highest > sequence) {
      const message = `environment ${env} has a bundle with sequence ${highest}: the number must not be lower`;
      throw conflict({ code: 'SEQUENCE_STALE', message, env });
    }
    await setSequences(work, env, sequence);
    const change = [String(row.last_sequence), String(sequence)] as const;
    await addAuditEntry(work, auditEntry(deps, caller, { target: String(sequence), env, change }));
  });
  return readEnv(deps, env);
}

/** The 409 error for an action while the environment's secrets are being destroyed, or will be. */
export function secretsPending(env: string, end: 'destroying' | 'doomed') {
  const message =
    end === 'destroying'
      ? 'the secrets of this environment are being destroyed; try again when that is done'
      : 'the secrets of this environment will be destroyed, because its last host is retired; keep them first, or add a host';
  return conflict({ code: end === 'destroying' ? 'SECRETS_PENDING' : 'SECRETS_DOOMED', message, env });
}

/** Keeps the secrets of an environment whose last host is retired; throws 404, and 409 if they are being destroyed. */
export async function keepSecrets(deps: AuditDependencies, { caller, env }: EnvAct): Promise<EnvDetails> {
  await deps.store.transaction().execute(async (work) => {
    const row = await lockEnv(work, env);
    if (row === null) throw notFound('env');
    if (await hasRemainingBackends(work, env)) return;
    await storeSecretsChoice(deps, work, { env: row, choice: 'keep', caller });
  });
  return readEnv(deps, env);
}

/** Stores a choice for the secrets of a locked environment. Throws 409 to keep secrets that are being destroyed. */
export async function storeSecretsChoice(
  deps: AuditDependencies,
  work: Store,
  { env, choice, caller }: { env: EnvRow; choice: SecretsChoice; caller: AuditCaller },
): Promise<void> {
  const { name } = env;
  if (choice === 'keep' && (await findSecretsEnd(work, name)) === 'destroying')
    throw secretsPending(name, 'destroying');
  await chooseSecrets(work, env, { choice, now: deps.clock() });
  await addAuditEntry(work, auditEntry(deps, { ...caller, act: `secrets.${choice}` }, { target: name, env: name }));
}

/** The environments that an operator may see, by name. */
export async function listEnvs({ store }: { store: Store }, operator: Operator): Promise<Env[]> {
  const envs = visibleEnvs(operator.permissions);
  const [rows, counts] = await Promise.all([selectEnvs(store, envs), countBackends(store, envs)]);
  return rows.map((row) => viewOf(row, counts));
}

/** Returns one environment; throws 404. */
export async function readEnv({ store }: { store: Store }, name: string): Promise<EnvDetails> {
  const row = await findEnv(store, name);
  if (row === null) throw notFound('env');
  const trust = await findBundleTrust(store, name);
  const desired = row.desired_sha === null ? null : await findBundle(store, row.desired_sha);
  const newest = await findNewestBundle(store, name);
  const views = await viewBundles(
    store,
    [desired, newest].filter((bundle) => bundle !== null),
  );
  const viewOfBundle = (sha256: string | undefined) => views.find((view) => view.sha256 === sha256) ?? null;
  return {
    ...viewOf(row, await countBackends(store, [name])),
    trust: trust && trustView(trust),
    desired: viewOfBundle(desired?.sha256),
    newest: viewOfBundle(newest?.sha256),
  };
}

function trustView({ threshold, keys, identities, root, policy, windows }: RecordedSettings): Trust {
  return {
    ...(policy && { policy }),
    ...(windows && { windows: [...windows] }),
    threshold,
    keys: [...keys],
    identities: [...identities],
    root: root === null ? null : (JSON.parse(root) as Trust['root']),
  };
}

function viewOf(
  { name, production, desired_sha, desired_since, previous_sha, last_sequence, held_since, secrets_destroy_at }: EnvRow,
  counts: BackendCount[],
): Env {
  const own = counts.filter(({ env }) => env === name).map(({ state, backends }) => [state, backends] as const);
  const backends = Object.fromEntries(own);
  const secretsDestroyAt = secrets_destroy_at === null ? null : toTime(secrets_destroy_at);
  return {
    name,
    production: production === 1,
    desired_sha,
    desired_since: desired_since === null ? null : toTime(desired_since),
    previous_sha,
    last_sequence,
    held_since: held_since === null ? null : toTime(held_since),
    backends,
    secrets_destroy_at: secretsDestroyAt,
  };
}

/**
 * Stores the signers that the hosts of an environment trust (null: they require no signature), so that the service can
 * verify signatures and wait for them. A host decides by its own configuration. Verifies all signatures of the
 * environment again. Throws 404, and 422 `TRUST_INVALID`.
 */
export async function setTrust(
  deps: AuditDependencies,
  { caller, env, trust }: EnvAct & { trust: RecordedSettings | null },
): Promise<EnvDetails> {
  if ((await findEnv(deps.store, env)) === null) throw notFound('env');
  const judge = trust === null ? () => null : await createJudge(trust, env);
  const kept = trust && { ...trust, keys: trust.keys.map(plainPem) };
  // In the transaction, which blocks others, only verify signatures that were added meanwhile.
  await forEachSignature(deps.store, env, async (row, bundle) => {
    judge(row, bundle);
    await setImmediate();
  });
  await deps.store.transaction().execute(async (work) => {
    if ((await lockEnv(work, env)) === null) throw notFound('env');
    const before = await findBundleTrust(work, env);
    await setBundleTrust(work, env, kept);
    await compareHosts(work, { env, recorded: kept, now: deps.clock() });
    await forEachSignature(work, env, (row, bundle) => setSigner(work, row, judge(row, bundle)));
    const change = [signersOf(before), signersOf(kept)] as const;
    await addAuditEntry(work, auditEntry(deps, caller, { target: env, env, change }));
  });
  return readEnv(deps, env);
}

/** The required signers as a text for the audit log. */
function signersOf(recorded: RecordedSettings | null): string {
  const { threshold, signers = [] } = expectedSettings(recorded) ?? {};
  return threshold === undefined ? 'none' : `${threshold} of ${signers.join(', ')}`;
}

/** Compares all hosts of an environment with newly recorded settings, and announces those that begin to differ. */
async function compareHosts(
  work: Store,
  { env, recorded, now }: { env: string; recorded: RecordedSettings | null; now: number },
): Promise<void> {
  const expected = expectedSettings(recorded);
  let page: Awaited<ReturnType<typeof listCheckIns>> = [];
  do {
    page = await listCheckIns(work, { env, after: page.at(-1)?.id ?? null, limit: hostsAtOnce });
    for (const backend of page) {
      const checkIn = backend.check_in === null ? null : (JSON.parse(backend.check_in) as CheckInRequest);
      const differing = expected === null ? null : Number(settingsDifference(checkIn, expected) !== null);
      if (differing === backend.differing) continue;
      await setDiffering(work, backend.id, differing);
      if (differing === 1) await announce(work, { type: 'backend.differs', now, env, backend });
    }
  } while (page.length === hostsAtOnce);
}

const hostsAtOnce = 200;

/** Returns the signer of a signature; null for an untrusted one. */
type Judge = (row: SignatureRow, bundle: BundleRow) => string | null;

/** Verifies each signature once; throws 422 for a trust that cannot be used. */
async function createJudge(trust: BundleTrust, env: string): Promise<Judge> {
  const { isReadable, signerOf } = await import('../bundles/judgeSignature.ts');
  const faults = [...trustFaults(trust), ...(isReadable(trust) ? [] : ['root is not a Sigstore trust root'])];
  if (faults.length > 0) throw new ApiError({ status: 422, code: 'TRUST_INVALID', message: faults.join('; '), env });
  const signers = new Map<string, string | null>();
  return ({ bundle_sha256, sha256, body }, bundle) => {
    const key = `${bundle_sha256} ${sha256}`;
    if (!signers.has(key)) signers.set(key, signerOf(JSON.parse(body), bundle, trust));
    return signers.get(key) ?? null;
  };
}

async function forEachSignature(
  store: Store,
  env: string,
  use: (row: SignatureRow, bundle: BundleRow) => Promise<void>,
): Promise<void> {
  for (const sha256 of await listDigests(store, env)) {
    const bundle = await findBundle(store, sha256);
    if (bundle === null) continue;
    for (const row of await listSignatures(store, sha256)) await use(row, bundle);
  }
}

/** The faults of a trust: unusable keys, fewer possible signers than the threshold, and identities without a root. */
function trustFaults({ threshold, keys, identities, root }: BundleTrust): string[] {
  const read = keys.map(readPublicKey);
  const unusable = read.flatMap((key, index) => (typeof key === 'string' ? [`keys.${index} ${key}`] : []));
  const different = new Set(read.flatMap((key) => (typeof key === 'string' ? [] : [key.hint])));
  const holders = new Set(identities.map(({ issuer, subject }) => JSON.stringify([issuer, subject])));
  const signers = different.size + holders.size;
  const repeated = read.length - unusable.length > different.size || identities.length > holders.size;
  return [
    ...unusable,
    ...(repeated ? ['a key or an identity is listed twice'] : []),
    ...(unusable.length === 0 && threshold > signers
      ? [`threshold ${threshold} cannot be met: there are ${signers} who can sign`]
      : []),
    ...(identities.every(({ subject }) => new RegExp(`^${subjectPattern}$`, 's').test(subject))
      ? []
      : ['a subject may contain * only at its end, after @refs/tags/']),
    ...(identities.length > 0 && root === null ? ['identities need a root, by which they are verified'] : []),
  ];
}
