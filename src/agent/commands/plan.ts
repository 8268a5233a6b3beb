import { access, constants, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endings } from '../../../machines/endings.ts';
import { Fault } from '../../../machines/fault.ts';
import { outcomeOf } from '../../../machines/outcomes.ts';
import type { Refusal, RefusalCode } from '../../../machines/refusals.ts';
import type { Sha } from '../../../machines/types.ts';
import { unpack } from '../adapters/release/archive.ts';
import { createContainers } from '../adapters/engine/containers.ts';
import { digestOf } from '../adapters/files/fileDigest.ts';
import { diskFault, isENOENT } from '../adapters/files/diskFault.ts';
import { Releases } from '../adapters/release/releases.ts';
import { readState } from '../adapters/state/stateFile.ts';
import { mergeDefaults } from '../../config/defaults.ts';
import { configTable } from '../config/configKeys.ts';
import type { Settings } from '../config/settings.ts';
import type { BundleContents } from '../rules/bundle/inventory.ts';
import { parseManifest } from '../../protocol/manifest.ts';
import { abortedPlan, manifestEnvOf, type Plan } from '../rules/plan/plan.ts';
import { formatPlan } from '../rules/plan/formatPlan.ts';
import { isInvalidState } from '../rules/state/state.ts';
import { readBundleDirectory } from '../services/apply/bundleDirectory.ts';
import { planBundle, type TargetHost } from '../services/apply/bundlePlan.ts';
import { readManifestText } from '../services/apply/unpack.ts';
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
    return planOfFiles({ sha: null, dir: bundle, signal }, host, () => readBundleDirectory(bundle, limits, signal));
  const sha = await digestOf(bundle, signal);
  const dir = await mkdtemp(join(tmpdir(), 'deployd-plan-'));
  try {
    return await planOfFiles({ sha, dir, signal }, host, () => unpack({ file: bundle, into: dir, limits, signal }));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** Plans the files in `dir`; `readContents` unpacks or lists them and may throw a refusal. */
async function planOfFiles(
  { sha, dir, signal }: { sha: Sha | null; dir: string; signal: AbortSignal },
  host: TargetHost | null,
  readContents: () => Promise<BundleContents>,
): Promise<Plan> {
  try {
    const contents = await readContents();
    const text = await readManifestText(dir);
    const parsed = parseManifest(text, host?.settings.env ?? manifestEnvOf(text));
    if ('refusal' in parsed) return abortedPlan([parsed.refusal], sha);
    const result = await planBundle({ sha, dir, manifest: parsed.manifest, contents }, host, signal);
    return result.plan;
  } catch (error) {
    if (error instanceof Fault && error.ending === 'refused') return abortedPlan([refusalOf(error)], sha);
    throw error;
  }
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

/** The refusal of a fault that `refusedFault` made. */
function refusalOf({ code, message }: Fault): Refusal {
  return { code: code as RefusalCode, detail: message.slice(`refused: ${code ?? ''}: `.length) };
}
