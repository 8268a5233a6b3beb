import type { Command } from 'commander';
import { planAlone, withBundleAt } from '../../bundle/bundleAt.ts';
import { formatPlan } from '../../bundle/plan/formatPlan.rules.ts';
import type { Plan } from '../../bundle/plan/plan.rules.ts';
import { defaultLimits as limits } from '../../api/checkIn.rules.ts';
import { judgeFiles } from '../../signatures/signatureFiles.ts';
import { readPolicy, readTrustFile } from '../config/configFiles.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { usageError } from '../core/ctlError.ts';
import { refusedBundle, withBundleFaults } from './bundleFiles.ts';

interface VerifyOptions {
  policy?: string;
  trust?: string;
  signatures?: string[];
}

const { signal } = new AbortController();

/** The value of the option `--policy` of several commands. */
export const policyOption = 'file with the key `policy` of config.yaml: check the bundle like a host with this policy';

/** `deployctl bundle verify`. */
export function addBundleVerify(bundle: Command, run: Run): void {
  bundle
    .command('verify')
    .description('Check whether hosts would refuse a bundle')
    .argument('<bundle>', 'archive or directory')
    .option('--policy <file>', policyOption)
    .option('--trust <file>', 'file with the key `trust.bundles`: verify the signatures like a host with this file')
    .option('--signatures <file...>', 'signature files for --trust (default: ARCHIVE.sigstore.json)')
    .action(run(verify));
}

async function verify(_: Session, [place]: [string], options: VerifyOptions): Promise<Result> {
  const { trust, signatures = [`${place}.sigstore.json`] } = options;
  if (trust === undefined && options.signatures)
    throw usageError('TRUST_MISSING', 'signatures need trusted signers to verify them', 'name a file with --trust');
  const policy = readPolicy(options.policy);
  const planned = await withBundleFaults(() =>
    withBundleAt({ path: place, limits, signal }, (bundle) => planAlone(bundle, signal, policy)),
  );
  const plan = trust === undefined ? planned : await withSigners(planned, trust, signatures);
  if (plan.refusals.length > 0) throw refusedBundle(plan.refusals);
  return { json: plan, text: formatPlan(plan) };
}

/** A plan with the verdict of a host's trust on the signatures; a directory that is not a bundle has no signatures. */
async function withSigners(plan: Plan, trustFile: string, files: string[]): Promise<Plan> {
  const trust = readTrustFile(trustFile);
  const { sha, bundle } = plan;
  if (sha === null) throw usageError('ARCHIVE_INVALID', 'a directory cannot be signed', 'name the archive of it');
  if (bundle === null) return plan;
  const { signers, refusal } = await judgeFiles({ trust, problems: [] }, { ...bundle, sha256: sha }, files);
  return { ...plan, signers, refusals: [...(refusal ? [refusal] : []), ...plan.refusals] };
}
