import type { FinishingStep } from '../../../machines/backend.ts';
import { auditEntry, byService } from '../core/audit.ts';
import type { ArchiveDependencies } from '../bundles/archives.ts';
import { deploySecrets } from '../bundles/repackBundle.ts';
import type { LogLine } from '../core/log.ts';
import { PeerError } from '../peers/bundleStorage.ts';
import type { MeshDirectory } from '../peers/meshDirectory.ts';
import type { Secretstore } from '../peers/secretstore.ts';
import { changeBackend, findBackend, findExpiredRetirements } from '../store/backends.ts';
import type { BackendRow, PendingStep, PendingStepRow } from '../store/database.ts';
import {
  chooseSecrets,
  doomSecrets,
  findEndedGraces,
  findEnv,
  hasOtherBackends,
  listHeldEnvs,
  lockEnv,
  lockEnvRow,
} from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { claimStep, findDueSteps, postponeStep, removeStep } from '../store/pendingSteps.ts';
import { addAuditEntry } from '../store/people.ts';
import { type BackendDependencies, stepBackoff } from './backendViews.ts';

/**
 * Dependencies of the steps that finish a retirement: they revoke the token and delete the identity and secrets at
 * peers.
 */
interface FinishingDependencies extends BackendDependencies, ArchiveDependencies {
  readonly secretstore: Secretstore;
  /** Null without a mesh. */
  readonly mesh: MeshDirectory | null;
  readonly log: LogLine;
}

/** Steps that are tried in one round. */
const STEPS_PER_ROUND = 200;
/** Milliseconds for which an instance claims a step. If the instance dies, another one takes over afterwards. */
const CLAIM_MS = 120_000;
/**
 * Work at a peer ends this long before the claim does, so that two instances never work on one step at the same time.
 */
const MARGIN_MS = 20_000;

const steps: Record<PendingStep, (deps: FinishingDependencies, call: StepCall) => Promise<unknown>> = {
  revokeToken,
  deleteIdentity,
  destroySecrets,
  destroyEnvSecrets,
  deploySecret,
  revokeSupersededToken: async ({ secretstore }, { subject, finish }) => {
    await secretstore.revokeToken(subject);
    return finish();
  },
  deleteUnusedIdentity: async ({ mesh }, { subject, finish }) => {
    await mesh?.deleteIdentity(subject);
    return finish();
  },
};

/**
 * Runs the due steps one after the other. Each step is idempotent. When a step fails, it is retried later, and other
 * steps of its kind wait for the next round, because their peer is probably unavailable. While a restore is reviewed, no
 * secrets are destroyed: hosts that the store does not know may use them.
 */
export async function runPendingSteps(deps: FinishingDependencies, signal: AbortSignal): Promise<void> {
  const failed = new Set<PendingStep>((await isReviewed(deps.store)) ? destructions : []);
  for (const due of await findDueSteps(deps.store, deps.clock(), STEPS_PER_ROUND)) {
    if (signal.aborted) return;
    if (failed.has(due.step)) continue;
    const claimed = await claimStep(deps.store, due, deps.clock() + CLAIM_MS);
    if (claimed !== null && !(await runStep(deps, claimed, signal))) failed.add(due.step);
  }
}

/** Steps that destroy secrets. */
const destructions: readonly PendingStep[] = ['destroySecrets', 'destroyEnvSecrets'];

async function isReviewed(store: Store): Promise<boolean> {
  return (await listHeldEnvs(store)).length > 0;
}

async function runStep(deps: FinishingDependencies, claimed: PendingStepRow, signal: AbortSignal): Promise<boolean> {
  const { subject, step, tries } = claimed;
  const call: StepCall = {
    subject,
    claimed,
    finish: (record) => finishStep(deps.store, claimed, record),
    signal: AbortSignal.any([signal, AbortSignal.timeout(CLAIM_MS - MARGIN_MS)]),
  };
  try {
    await steps[step](deps, call);
    return true;
  } catch (error) {
    // Only the messages of peer errors are safe to show to readers of the API.
    const reason = error instanceof PeerError ? error.message : 'an unexpected error, which the log describes';
    const pauseMs = signal.aborted ? 0 : stepBackoff(tries);
    deps.log('warn', `the step ${step} has failed: ${String(error)}`, { subject, tries });
    await postponeStep(deps.store, claimed, { error: reason, dueAt: deps.clock() + pauseMs });
    return false;
  }
}

function finishStep(
  store: Store,
  claimed: PendingStepRow,
  record: (work: Store) => Promise<void> = async () => {},
): Promise<boolean> {
  return store.transaction().execute(async (work) => {
    if (!(await removeStep(work, claimed))) return false;
    await record(work);
    return true;
  });
}

/**
 * Deploys the newest version of a secret: the instance that was about to write it has died, or failed to deploy it.
 */
async function deploySecret(deps: FinishingDependencies, { subject, finish }: StepCall): Promise<void> {
  const [, env = '', key] = /^deployd\/data\/([^/]+)\/see\/([^/]+)$/.exec(subject) ?? [];
  const secrets = (await findEnv(deps.store, env)) === null ? [] : await deps.secretstore.listSecrets(env);
  const version = secrets.find((secret) => secret.key === key)?.version;
  const caller = byService('secret.set');
  if (version !== undefined) await deploySecrets(deps, { caller, env, pins: new Map([[subject, version]]) });
  await finish();
}

/** Revokes the newest known token of a retired backend. */
async function revokeToken(deps: FinishingDependencies, call: StepCall): Promise<void> {
  const { token_accessor } = await retiredBackend(deps, call);
  if (token_accessor !== null) await deps.secretstore.revokeToken(token_accessor);
  await finishBackendStep(deps, call, { step: 'revokeToken', isDone: token_accessor !== null });
}

/** Deletes the mesh identity of a retired backend. */
async function deleteIdentity(deps: FinishingDependencies, call: StepCall): Promise<void> {
  const { mesh } = deps;
  const { mesh_identity } = await retiredBackend(deps, call);
  const isDone = mesh !== null && mesh_identity !== null;
  if (isDone) await mesh.deleteIdentity(mesh_identity);
  await finishBackendStep(deps, call, { step: 'deleteIdentity', isDone });
}

/**
 * Destroys the secrets of the environment of a retired backend, if the operator has chosen so; dooms them without a
 * choice. They stay if the environment has other backends, or the operator keeps them.
 */
async function destroySecrets(deps: FinishingDependencies, call: StepCall): Promise<void> {
  const { env } = await retiredBackend(deps, call);
  // Creating a backend also locks the environment, and then finds this step pending.
  const choice = await deps.store.transaction().execute(async (work) => {
    const row = await lockEnv(work, env);
    return row === null || (await hasOtherBackends(work, env)) ? 'keep' : row.secrets_choice;
  });
  if (choice === null && (await deps.secretstore.listSecrets(env)).length > 0) return doom(deps, call, env);
  if (choice === 'destroy') await deps.secretstore.destroySecrets(env, call.signal);
  await finishBackendStep(deps, call, { step: 'destroySecrets', isDone: choice === 'destroy' });
}

/** Ends the step until the grace is over, unless an operator has decided meanwhile. */
async function doom(deps: FinishingDependencies, { claimed }: StepCall, env: string): Promise<void> {
  const { store, settings, clock } = deps;
  await store.transaction().execute(async (work) => {
    const row = await lockEnv(work, env);
    if (row === null || !(await removeStep(work, claimed))) return;
    await doomSecrets(work, row, clock() + settings.secret_grace_s * 1000);
    if (row.secrets_destroy_at !== null) return;
    await addAuditEntry(work, auditEntry(deps, byService('secrets.doom'), { target: env, env }));
  });
}

/** Makes the destruction of secrets due that no operator has kept during the grace. */
export async function endSecretGraces(deps: FinishingDependencies): Promise<void> {
  const now = deps.clock();
  for (const env of await findEndedGraces(deps.store, now)) {
    await deps.store.transaction().execute(async (work) => {
      const row = await lockEnv(work, env);
      const at = row?.secrets_destroy_at ?? null;
      if (row === null || at === null || at > now) return;
      await chooseSecrets(work, row, { choice: 'destroy', now });
      await addAuditEntry(work, auditEntry(deps, byService('secrets.endGrace'), { target: env, env }));
    });
  }
}

/** Destroys the secrets of a deleted environment. */
async function destroyEnvSecrets(deps: FinishingDependencies, call: StepCall): Promise<void> {
  const env = call.subject;
  const row = await deps.store.transaction().execute((work) => lockEnvRow(work, env));
  const isDone = row !== null && row.deleted_at !== null;
  if (isDone) await deps.secretstore.destroySecrets(env, call.signal);
  const entry = auditEntry(deps, byService('env.destroySecrets'), { target: env, env });
  await call.finish(async (work) => {
    if (isDone) await addAuditEntry(work, entry);
  });
}

async function retiredBackend({ store }: FinishingDependencies, { subject }: StepCall): Promise<BackendRow> {
  const row = await findBackend(store, subject);
  if (row === null) throw new Error(`there is no backend ${subject}`);
  return row;
}

/** Marks the step as done, and adds an entry to the audit log if the step changed anything. */
async function finishBackendStep(
  deps: FinishingDependencies,
  { subject, finish }: StepCall,
  { step, isDone }: { step: FinishingStep; isDone: boolean },
): Promise<void> {
  await finish(async (work) => {
    const change = { event: { type: 'FINISH_STEP', step }, now: deps.clock() } as const;
    const row = await changeBackend(work, subject, change);
    if (row === null || !isDone) return;
    await addAuditEntry(work, auditEntry(deps, byService(`backend.${step}`), { target: subject, env: row.env }));
  });
}

/** The data that a pending step needs, in addition to the dependencies. */
interface StepCall {
  subject: string;
  claimed: PendingStepRow;
  /**
   * Removes the step and stores its results in one transaction; returns false if another instance finished it first.
   */
  finish: (record?: (work: Store) => Promise<void>) => Promise<boolean>;
  /** Aborted before the claim of the step ends, and when the service stops. */
  signal: AbortSignal;
}

/** Largest number of retirements to expire in one round. */
const RETIREMENTS_PER_ROUND = 500;

/** Continues retirements that a silent host did not answer in time. */
export async function expireRetirements(deps: FinishingDependencies): Promise<void> {
  const now = deps.clock();
  const before = now - deps.settings.retire_timeout_s * 1000;
  for (const id of await findExpiredRetirements(deps.store, before, RETIREMENTS_PER_ROUND)) {
    await deps.store.transaction().execute(async (work) => {
      const row = await changeBackend(work, id, {
        event: { type: 'EXPIRE_RETIREMENT' },
        now,
        when: ({ last_seen_at }) => (last_seen_at ?? 0) < before,
      });
      if (row === null) return;
      await addAuditEntry(work, auditEntry(deps, byService('backend.expireRetirement'), { target: id, env: row.env }));
    });
  }
}
