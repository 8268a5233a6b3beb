import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Refusal } from '../../machines/refusals.ts';
import type { Sha } from '../../machines/types.ts';
import type { HostPolicy } from '../api/hostPolicy.rules.ts';
import { diskFault } from '../core/errors.rules.ts';
import { digestOf } from '../core/files.ts';
import { unpack } from './archive/archive.ts';
import type { BundleLimits } from './archive/archiveEntries.rules.ts';
import { readBundleDirectory } from './archive/pack.ts';
import type { DiffSide } from './bundleDiff.rules.ts';
import { abortedPlan, type BundleFacts, noHost, type Plan, planOf } from './plan/plan.rules.ts';
import { anyHost, type OrchestratorName, type PolicyHost } from './policy/policyHost.rules.ts';
import { bundleFactsOf, judgeContents, readBundle, type UnpackedBundle } from './readBundle.ts';

/** An archive, or a directory with the files of a bundle. */
interface BundlePlace {
  path: string;
  /** The environment to read it for; by default the manifest's. */
  env?: string | undefined;
  limits: BundleLimits;
  signal: AbortSignal;
}

/** A bundle that was read, or the refusal; the sha is null for a directory. */
type ReadBundle = UnpackedBundle | { sha: Sha | null; refusal: Refusal };

/**
 * Reads a bundle for `use`; unpacks an archive into a temporary directory, which is removed afterwards. Throws Faults.
 */
export async function withBundleAt<Result>(
  { path, env, limits, signal }: BundlePlace,
  use: (bundle: ReadBundle) => Promise<Result>,
): Promise<Result> {
  const stats = await stat(path).catch((error: unknown) => {
    throw diskFault('read', path, error);
  });
  if (stats.isDirectory()) {
    const readContents = () => readBundleDirectory(path, limits, signal);
    return use({ sha: null, ...(await readBundle({ sha: null, dir: path, readContents }, env)) });
  }
  const sha = await digestOf(path, signal);
  const dir = await mkdtemp(join(tmpdir(), 'deployd-plan-'));
  try {
    const readContents = () => unpack({ file: path, into: dir, limits, signal });
    return await use({ sha, ...(await readBundle({ sha, dir, readContents }, env)) });
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/**
 * Plans a bundle from only its files, as for a host with this policy, which may require signatures. Throws Fault
 * `stopped` on abort.
 */
export async function planAlone(
  bundle: ReadBundle,
  signal: AbortSignal,
  host: Pick<PolicyHost, 'policy' | 'requiresSignatures'> = anyHost,
): Promise<Plan> {
  if ('refusal' in bundle) return abortedPlan([bundle.refusal], bundle.sha);
  const plan = planOf(await bundleFactsOf(bundle, signal), { ...noHost, policyHost: { ...anyHost, ...host } });
  const { refusals, notices } = await judgeContents(bundle, signal);
  return { ...plan, refusals: [...refusals, ...plan.refusals], notices: [...plan.notices, ...notices] };
}

/** Plans a bundle that was read, as for a host with this policy and orchestrator. */
export function planFor(bundle: BundleFacts, policy: HostPolicy, orchestrator: OrchestratorName = 'compose'): Plan {
  return planOf(bundle, { ...noHost, policyHost: { ...anyHost, orchestrator, policy } });
}

/**
 * One side of a comparison, even if hosts would refuse the bundle; the reason if its manifest or compose files cannot
 * be read. Throws Fault `stopped` on abort.
 */
export async function diffSideOf(
  bundle: UnpackedBundle | { refusal: Refusal },
  signal: AbortSignal,
): Promise<DiffSide | { refusals: Refusal[] }> {
  if ('refusal' in bundle) return { refusals: [bundle.refusal] };
  const facts = await bundleFactsOf(bundle, signal);
  return facts.refusals.length > 0 ? { refusals: facts.refusals } : { facts, contents: bundle.contents };
}
