import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';
import { endings } from '../../../machines/endings.ts';
import { Fault, outcomeOf } from '../../../machines/fault.ts';
import { defaultLimits } from '../../api/checkIn.rules.ts';
import type { TrustSettings } from '../../api/trust.rules.ts';
import { planAlone, withBundleAt } from '../../bundle/bundleAt.ts';
import { formatPlan } from '../../bundle/plan/formatPlan.rules.ts';
import type { Plan } from '../../bundle/plan/plan.rules.ts';
import { isENOENT } from '../../core/errors.rules.ts';
import { judgeFiles, readTrust } from '../../signatures/signatureFiles.ts';
import { deferringLines } from '../checkIn/desiredState.rules.ts';
import { readDeferringFacts } from '../checkIn/hold.ts';
import type { HostTrust, Settings } from '../config/configKeys.ts';
import { createCompose } from '../engine/compose.ts';
import { createContainers } from '../engine/containers.ts';
import type { Output } from '../journal/terminal.ts';
import { Releases } from '../release/releases.ts';
import { createRedactor } from '../secrets/redactor.ts';
import { isInvalidState } from '../state/state.rules.ts';
import { readState } from '../state/stateFile.ts';
import { planBundle, type TargetHost } from './bundlePlan.ts';

/** Options of `deployd plan`. */
export interface PlanOptions {
  /** Path of a bundle, or of a directory with its files. */
  bundle: string;
  /** Files of signatures of the bundle. */
  signatures?: readonly string[];
  json: boolean;
  /** Aborts the plan; the temporary directory is removed anyway. */
  signal: AbortSignal;
}

/**
 * `deployd plan`: exit 0 when nothing is refused, else 1. Without settings the bundle is validated without a host. Uses
 * no network, lock or token, and writes only to a temporary directory.
 */
export async function plan(settings: Settings | null, options: PlanOptions, out: Output): Promise<number> {
  try {
    const planned = await planOfBundle(settings, options);
    const result = await withSignatures(
      planned,
      settings?.trust ?? { bundles: null, images: null },
      options.signatures ?? [],
    );
    const deferring = settings === null ? {} : await readDeferringFacts(settings).catch(() => ({}));
    out.log(options.json ? JSON.stringify({ ...result, ...deferring }, null, 2) : formatPlan(result));
    if (!options.json) for (const line of deferringLines(deferring)) out.log(line);
    return result.refusals.length === 0 ? 0 : endings.refused.meta.exit;
  } catch (error) {
    const { ending, lines } = outcomeOf(error, false);
    for (const line of lines) out.error(line);
    return endings[ending].meta.exit;
  }
}

async function planOfBundle(settings: Settings | null, { bundle: path, signal }: PlanOptions): Promise<Plan> {
  const host = settings && (await targetHostOf(settings, signal));
  const { limits } = settings ?? { limits: defaultLimits };
  return withBundleAt({ path, env: settings?.env, limits, signal }, async (bundle) =>
    host === null || 'refusal' in bundle ? planAlone(bundle, signal) : (await planBundle(bundle, host, signal)).plan,
  );
}

/** The host of the configuration, read-only. */
async function targetHostOf(settings: Settings, signal: AbortSignal): Promise<TargetHost> {
  const { container_host, env, state_dir } = settings;
  const containers = createContainers({ containerHost: container_host, project: `deployd-${env}`, signal });
  return {
    settings,
    containers,
    compose: createCompose(settings, `deployd-${env}`, {
      redactor: () => createRedactor([]),
      podmanVersion: () => containers.podmanVersion(),
    }),
    releases: new Releases(state_dir, join(state_dir, env)),
    state: await knownState(settings),
    production: false,
  };
}

async function knownState({ env, state_dir }: Settings): Promise<TargetHost['state']> {
  const mayRead = await access(state_dir, constants.R_OK | constants.X_OK).then(() => true, isENOENT);
  if (!mayRead) return { unknown: `${state_dir} is for its owner alone: run as that user, or as root` };
  const state = await readState(state_dir).catch(messageOf);
  if (typeof state === 'string') return { unknown: state };
  if (state === null) return { known: null };
  if (isInvalidState(state)) return { unknown: state.fault };
  return state.env === env ? { known: state } : { unknown: `state.json belongs to environment ${state.env}` };
}

function messageOf(error: unknown): string {
  if (error instanceof Fault) return error.message;
  throw error;
}

/**
 * A plan with the result of verifying the signatures in these files. Without files it says that no signatures were
 * verified, as it does for images. The plan is unchanged without `trust.bundles`, and for a directory, which has no
 * digest to sign.
 */
export async function withSignatures(plan: Plan, trust: HostTrust, files: readonly string[]): Promise<Plan> {
  const judged = await withBundleSignatures(plan, trust.bundles, files);
  if (trust.images === null || plan.bundle === null) return judged;
  return { ...judged, not_judged: [ofImages, ...judged.not_judged] };
}

async function withBundleSignatures(
  plan: Plan,
  trusted: TrustSettings | null,
  files: readonly string[],
): Promise<Plan> {
  const { sha, bundle } = plan;
  if (trusted === null || sha === null || bundle === null) return plan;
  if (files.length === 0) return { ...plan, not_judged: [notGiven, ...plan.not_judged] };
  const { signers, refusal } = await judgeFiles(await readTrust(trusted), { ...bundle, sha256: sha }, files);
  return { ...plan, signers, refusals: [...(refusal ? [refusal] : []), ...plan.refusals] };
}

const notGiven: Plan['not_judged'][number] = {
  codes: ['SIGNATURE_REFUSED'],
  why: 'name the signatures with --signatures',
};

const ofImages: Plan['not_judged'][number] = {
  codes: ['SIGNATURE_REFUSED'],
  why: 'signatures of images are in their registries, which an apply asks',
};
