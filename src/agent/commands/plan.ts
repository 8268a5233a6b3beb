import { access, constants, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endings } from '../../../machines/endings.ts';
import { Fault } from '../../../machines/fault.ts';
import { outcomeOf } from '../../../machines/outcomes.ts';
import { unpack } from '../../bundle/archive.ts';
import { createContainers } from '../adapters/engine/containers.ts';
import { digestOf } from '../../bundle/fileDigest.ts';
import { diskFault, isENOENT } from '../rules/errors/diskFault.ts';
import { Releases } from '../adapters/release/releases.ts';
import { readState } from '../adapters/state/stateFile.ts';
import { mergeDefaults } from '../../config/defaults.ts';
import { configTable } from '../config/configKeys.ts';
import type { Settings } from '../config/settings.ts';
import { abortedPlan, type Plan } from '../rules/plan/plan.ts';
import { formatPlan } from '../rules/plan/formatPlan.ts';
import { isInvalidState } from '../rules/state/state.ts';
import { readBundleDirectory } from '../../bundle/bundleDirectory.ts';
import { planBundle, type TargetHost } from '../services/apply/bundlePlan.ts';
import { readBundle, type BundleSource } from '../../bundle/readBundle.ts';
import type { Output } from './status.ts';

/** Options of `deployd plan`. */
export interface PlanOptions {
  /** Path of a bundle, or of a directory with its files. */
  bundle: string;
  json: boolean;
  /** Aborts the plan; the temporary directory is removed anyway. */
  signal: AbortSignal;
}

/**
 * `deployd plan`: exit 0 when nothing is refused, else 1. Without settings the bundle is validated by itself. Uses no network, lock
 * or token, and writes only to a temporary directory.
 */
export async function plan(settings: Settings | null, options: PlanOptions, out: Output): Promise<number> {
  try {
    const result = await planOfBundle(settings, options);
    out.log(options.json ? JSON.stringify(result, null, 2) : formatPlan(result));
    return result.refusals.length === 0 ? 0 : endings.refused.meta.exit;
  } catch (error) {
    const { ending, lines } = outcomeOf(error, false);
    for (const line of lines) out.error(line);
    return endings[ending].meta.exit;
  }
}

async function planOfBundle(settings: Settings | null, { bundle, signal }: PlanOptions): Promise<Plan> {
  const stats = await stat(bundle).catch((error: unknown) => {
    throw diskFault('read', bundle, error);
  });
  const { limits } = settings ?? (mergeDefaults(configTable, {}) as unknown as Settings);
  const host = settings && (await targetHostOf(settings, signal));
  if (stats.isDirectory())
    return planOfFiles(
      { sha: null, dir: bundle, readContents: () => readBundleDirectory(bundle, limits, signal) },
      host,
      signal,
    );
  const sha = await digestOf(bundle, signal);
  const dir = await mkdtemp(join(tmpdir(), 'deployd-plan-'));
  try {
    const readContents = () => unpack({ file: bundle, into: dir, limits, signal });
    return await planOfFiles({ sha, dir, readContents }, host, signal);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function planOfFiles(source: BundleSource, host: TargetHost | null, signal: AbortSignal): Promise<Plan> {
  const bundle = await readBundle(source, host?.settings.env);
  if ('refusal' in bundle) return abortedPlan([bundle.refusal], source.sha);
  return (await planBundle(bundle, host, signal)).plan;
}

/** The host of the configuration, read-only. */
async function targetHostOf(settings: Settings, signal: AbortSignal): Promise<TargetHost> {
  const { container_host, env, state_dir } = settings;
  const containers = createContainers({ containerHost: container_host, project: `deployd-${env}`, signal });
  return {
    settings,
    containers,
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
  return state.env === env ? { known: state } : { unknown: `state.json belongs to env ${state.env}` };
}

function messageOf(error: unknown): string {
  if (error instanceof Fault) return error.message;
  throw error;
}
