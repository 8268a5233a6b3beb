import { createHash } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { signatureLimits } from '../../api/trust.rules.ts';
import type { BundleDiff } from '../../bundle/bundleDiff.rules.ts';
import { identityName, SignatureFault } from '../../signatures/judgement.rules.ts';
import { rootDigest } from '../../signatures/signatureFiles.ts';
import { keyName, readPublicKey } from '../../signatures/trust.ts';
import { ApiError, notFound, requestAborted } from '../core/apiError.rules.ts';
import { type AuditDependencies, auditEntry } from '../core/audit.ts';
import { type AuditCaller, type Operator, requirePermission, visibleEnvs } from '../core/permission.rules.ts';
import type { Limiter } from '../core/limiter.ts';
import { toPage, toTime } from '../core/lists.rules.ts';
import {
  findBundle,
  findSigners,
  insertSignature,
  listBundles as selectBundles,
  listSignatures as selectSignatures,
} from '../store/bundles.ts';
import type { BundleRow, ListedBundle, Place, RecordedSettings, Role, SignatureRow } from '../store/database.ts';
import { findBundleTrust, findThresholds, lockEnv } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import { type ArchiveDependencies, fetchArchive, refusedBundle, withScratchDirectory } from './archives.ts';
import { signatureStateOf } from './bundle.rules.ts';
import type { Bundle, BundleDetails, ReceivedSignature } from './bundleSchemas.ts';
import type { ExpectedSettings } from './hostPolicies.rules.ts';

/** A page of bundles in the environments that the operator may see, newest first. */
export async function listBundles(
  { store }: { store: Store },
  { operator, env, after, limit }: { operator: Operator; env?: string; after?: Place | undefined; limit: number },
): Promise<{ bundles: Bundle[]; last: Place | null }> {
  const envs = env === undefined ? visibleEnvs(operator.permissions) : [env];
  const { items, last } = toPage(await selectBundles(store, { envs, after, limit: limit + 1 }), limit);
  return { bundles: await viewBundles(store, items), last: last && { time: last.received_at, id: last.sha256 } };
}

/** Returns one bundle; throws 404, also if the operator may not see its environment. */
export async function readBundle(deps: { store: Store }, bundle: NamedBundle): Promise<BundleDetails> {
  const row = await findPermitted(deps, bundle, 'viewer');
  return {
    ...(await viewBundle(deps.store, row)),
    variables: JSON.parse(row.variables) as Record<string, string>,
    profiles: JSON.parse(row.profiles) as string[],
  };
}

/** Converts rows of bundles to the form that the API returns. */
export async function viewBundles(store: Store, rows: readonly ListedBundle[]): Promise<Bundle[]> {
  const envs = [...new Set(rows.map(({ env }) => env))];
  const thresholds = await findThresholds(store, envs);
  const signers = await findSigners(
    store,
    rows.map(({ sha256 }) => sha256),
  );
  return rows.map((row) => {
    const own = signers.get(row.sha256) ?? [];
    const signature = signatureStateOf(own, thresholds.get(row.env) ?? null);
    return { ...viewOf(row), signature, signers: own };
  });
}

/** Converts a bundle's row to the form that the API returns. */
export async function viewBundle(store: Store, row: ListedBundle): Promise<Bundle> {
  const [view] = await viewBundles(store, [row]);
  if (view === undefined) throw new TypeError('a row has no view');
  return view;
}

function viewOf(row: ListedBundle): Omit<Bundle, 'signature' | 'signers'> {
  const { sha256, env, name, version, sequence, size_bytes, received_from } = row;
  return {
    sha256,
    env,
    name,
    version,
    sequence,
    ...(row.returns_to !== null && { returns_to: row.returns_to }),
    size_bytes,
    production: row.production === 1,
    allow_privileged: row.allow_privileged === 1,
    allow_rollback: row.allow_rollback === 1,
    emergency: row.emergency === 1,
    received_at: toTime(row.received_at),
    received_from,
  };
}

/** A bundle that an operator named by its digest. */
export interface NamedBundle {
  operator: Operator;
  sha256: string;
}

/**
 * Returns the row of a bundle; throws 404, also if the operator may not see its environment, and 403 if the operator has
 * a lower role there.
 */
export async function findPermitted(
  { store }: { store: Store },
  { operator, sha256 }: NamedBundle,
  role: Role,
): Promise<BundleRow> {
  const row = await findBundle(store, sha256);
  if (row === null) throw notFound('bundle');
  requirePermission(operator, { role, env: row.env }, 'bundle');
  return row;
}

/** The recorded settings of an environment in the form that hosts report; null if nothing was recorded. */
export function expectedSettings(recorded: RecordedSettings | null): ExpectedSettings | null {
  if (recorded === null) return null;
  const { threshold, keys, identities, root, policy, windows } = recorded;
  const fingerprints = keys.flatMap((pem) => {
    const read = readPublicKey(pem);
    return typeof read === 'string' ? [] : [keyName(read.hint)];
  });
  const signers = [...fingerprints, ...identities.map(identityName)];
  // Hosts need the root for identities only.
  return { threshold, signers, root: root && identities.length > 0 ? rootDigest(root) : null, policy, windows };
}

/** The expectations of few environments, by their text in the store: every check-in needs one. */
const known = new Map<string, ExpectedSettings | null>();

/** The same for the stored text. */
export function expectedByText(text: string | null): ExpectedSettings | null {
  if (text === null) return null;
  const expected = known.get(text) ?? expectedSettings(JSON.parse(text) as RecordedSettings);
  if (known.size > 1000) known.clear();
  known.set(text, expected);
  return expected;
}

/** Lists the signatures of a bundle, oldest first; throws 404 and 403. */
export async function listSignatures(deps: { store: Store }, named: NamedBundle): Promise<ReceivedSignature[]> {
  const { sha256 } = await findPermitted(deps, named, 'viewer');
  return (await selectSignatures(deps.store, sha256)).map(({ sha256, signer, received_at, received_from, body }) => {
    return { sha256, signer, received_at: toTime(received_at), received_from, signature: JSON.parse(body) as object };
  });
}

/** A signature that an operator adds to a bundle. */
export interface NewSignature extends NamedBundle {
  caller: AuditCaller;
  /** The JSON of the signature, not validated yet. */
  signature: object;
}

/**
 * Adds a signature to a bundle; adding it again has no effect. Throws 404 and 403. Throws 422 `SIGNATURE_REFUSED` for
 * an invalid signature, or, where the service knows the trusted signers, for one whose signer the hosts do not trust.
 */
export async function addSignature(
  deps: AuditDependencies,
  { signature, caller, ...named }: NewSignature,
): Promise<{ bundle: Bundle; created: boolean }> {
  const { env, sha256 } = await findPermitted(deps, named, 'deployer');
  const { requireSigner, requireTruth } = await import('./judgeSignature.ts');
  try {
    const text = textOf(signature);
    return await deps.store.transaction().execute(async (work) => {
      if ((await lockEnv(work, env)) === null) throw notFound('env');
      const bundle = await findBundle(work, sha256);
      if (bundle === null) throw notFound('bundle');
      requireTruth(signature, bundle);
      const trust = await findBundleTrust(work, env);
      const signer = trust === null ? null : requireSigner(signature, bundle, trust);
      const origin = { signer, received_at: deps.clock(), received_from: caller.actor };
      const created = await insertOnce(work, { bundle_sha256: sha256, ...text, ...origin });
      await addAuditEntry(work, auditEntry(deps, caller, { target: sha256, env }));
      return { bundle: await viewBundle(work, bundle), created };
    });
  } catch (error) {
    if (!(error instanceof SignatureFault)) throw error;
    throw new ApiError({ status: 422, code: 'SIGNATURE_REFUSED', message: error.message, env });
  }
}

/** Serializes a signature, and returns it with its digest. */
function textOf(signature: object): Pick<SignatureRow, 'body' | 'sha256'> {
  const body = JSON.stringify(signature);
  const size = Buffer.byteLength(body);
  if (size > signatureLimits.bytes)
    throw new SignatureFault(`it has ${size} bytes, more than ${signatureLimits.bytes}`);
  return { body, sha256: createHash('sha256').update(body).digest('hex') };
}

/** Inserts a signature; returns false if the bundle already has it. */
async function insertOnce(work: Store, row: SignatureRow): Promise<boolean> {
  const known = await selectSignatures(work, row.bundle_sha256);
  if (known.some(({ sha256 }) => sha256 === row.sha256)) return false;
  if (known.length >= signatureLimits.count)
    throw new SignatureFault(`the bundle has ${known.length} signatures, and no more are kept`);
  await insertSignature(work, row);
  return true;
}

/** Dependencies of comparisons of bundles. */
export interface ComparisonDependencies extends ArchiveDependencies {
  /** Limits the comparisons that run at the same time. */
  readonly limitComparisons: Limiter;
}

/**
 * Longest time in milliseconds of a comparison, including the downloads of both archives: callers and proxies give up
 * after a minute.
 */
const LONGEST_MS = 45_000;

/** Two bundles of an environment, by their digests. */
export interface Comparison {
  env: string;
  before: string;
  after: string;
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
}

/**
 * Compares two bundles of an environment without showing values that may be confidential. Unpacks both archives
 * below the state directory. Throws 404, 422 for a bundle that this version cannot read, and PeerErrors. Throws 503
 * `BUNDLE_MISSING`, `BUNDLE_DAMAGED`, `DISK_FULL`, or `OVERLOADED` if too many comparisons run or this one takes too
 * long.
 */
export async function compareBundles(deps: ComparisonDependencies, comparison: Comparison): Promise<BundleDiff> {
  const { env, before, after, signal } = comparison;
  for (const sha256 of [before, after]) await requireBundleOf(deps.store, env, sha256);
  return deps.limitComparisons(async () => {
    const timeout = AbortSignal.timeout(LONGEST_MS);
    const either = AbortSignal.any([signal, timeout]);
    try {
      return await withScratchDirectory(deps, async (scratch) => {
        const [one, other] = [
          await fetchSide(deps, { sha256: before, dir: join(scratch, 'before') }, either),
          await fetchSide(deps, { sha256: after, dir: join(scratch, 'after') }, either),
        ];
        const diff = await deps.runArchiveTask('compare', { before: one, after: other }, either);
        if ('refusals' in diff) throw refusedBundle(diff.refusals);
        return diff;
      });
    } catch (error) {
      if (signal.aborted) throw requestAborted();
      if (timeout.aborted) throw tooSlow();
      throw error;
    }
  });
}

async function requireBundleOf(store: Store, env: string, sha256: string): Promise<void> {
  const row = await findBundle(store, sha256);
  // The role is for this environment only: bundles of other environments count as missing.
  if (row?.env !== env) throw notFound('bundle');
}

/** Fetches an archive into a new directory. */
async function fetchSide(
  deps: ComparisonDependencies,
  { sha256, dir }: { sha256: string; dir: string },
  signal: AbortSignal,
) {
  const [file, into] = [join(dir, 'archive'), join(dir, 'files')];
  await mkdir(into, { recursive: true, mode: 0o700 });
  await fetchArchive(deps, { sha256, file, signal });
  return { file, sha256, into, limits: deps.settings.limits };
}

function tooSlow(): ApiError {
  const message = `comparing the bundles has taken longer than ${LONGEST_MS / 1000} s: fetch and compare them by deployctl`;
  return new ApiError({ status: 503, code: 'OVERLOADED', message, retryAfterS: 60 });
}
