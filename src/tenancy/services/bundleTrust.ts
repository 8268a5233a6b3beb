import { setImmediate } from 'node:timers/promises';
import type { BundleTrust } from '../../signatures/bundleTrust.ts';
import { plainPem } from '../../signatures/publicKey.ts';
import { trustFaults } from '../rules/trustFaults.ts';
import { addAuditEntry } from '../store/audit.ts';
import { findBundle, listDigests } from '../store/bundles.ts';
import { setBundleTrust } from '../store/bundleTrusts.ts';
import type { BundleRow, SignatureRow } from '../store/database.ts';
import { findEnv, lockEnv } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { listSignatures, setSigner } from '../store/signatures.ts';
import { ApiError, notFound } from './apiError.ts';
import { auditEntry } from './audit.ts';
import type { Dependencies } from './dependencies.ts';
import type { EnvAct } from './envs.ts';
import { readEnv, type EnvDetails } from './envViews.ts';

/**
 * Keeps whom the hosts of an env believe about bundles (null: they demand no signature), so that the service can judge
 * signatures and wait for them; a host itself decides by its own configuration. All signatures of the env are judged anew.
 * Throws 404, and 422 `TRUST_INVALID`.
 */
export async function setTrust(
  deps: Dependencies,
  { caller, env, trust }: EnvAct & { trust: BundleTrust | null },
): Promise<EnvDetails> {
  if ((await findEnv(deps.store, env)) === null) throw notFound('env');
  const judge = trust === null ? () => null : await createJudge(trust, env);
  const kept = trust && { ...trust, keys: trust.keys.map(plainPem) };
  // Within the transaction, which others wait for, only what was added meanwhile is left to be judged.
  await forEachSignature(deps.store, env, async (row, bundle) => {
    judge(row, bundle);
    await setImmediate();
  });
  await deps.store.transaction().execute(async (work) => {
    if ((await lockEnv(work, env)) === null) throw notFound('env');
    await setBundleTrust(work, env, kept);
    await forEachSignature(work, env, (row, bundle) => setSigner(work, row, judge(row, bundle)));
    await addAuditEntry(work, auditEntry(deps, caller, { target: env, env }));
  });
  return readEnv(deps, env);
}

/** Who has made a signature; null for nobody who is trusted. */
type Judge = (row: SignatureRow, bundle: BundleRow) => string | null;

/** Judges each signature once; throws 422 for a trust that cannot be used. */
async function createJudge(trust: BundleTrust, env: string): Promise<Judge> {
  const { isReadable, signerOf } = await import('./bundles/judgeSignature.ts');
  const faults = [...trustFaults(trust), ...(isReadable(trust) ? [] : ['root is no Sigstore trust root'])];
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
