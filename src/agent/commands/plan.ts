import { access, constants, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endings } from '../../../machines/endings.ts';
import { Fault } from '../../../machines/fault.ts';
import { outcomeOf } from '../../../machines/outcomes.ts';
import type { Refusal, RefusalCode, Sha } from '../../../machines/words.ts';
import { unpack } from '../adapters/files/archive.ts';
import { createContainers } from '../adapters/engine/containers.ts';
import { digestOf } from '../adapters/files/digest.ts';
import { diskFault, isENOENT } from '../adapters/files/files.ts';
import { Releases } from '../adapters/files/releases.ts';
import { readState } from '../adapters/files/state.ts';
import { mergeDefaults } from '../config/merge.ts';
import type { Settings } from '../config/settings.ts';
import type { Contents } from '../rules/bundle/inventory.ts';
import { parseManifest } from '../../protocol/manifest.ts';
import { endedPlan, envOf, type Plan } from '../rules/plan/plan.ts';
import { planText } from '../rules/plan/text.ts';
import { isFault } from '../rules/state/state.ts';
import { judgeDirectory } from '../services/apply/directory.ts';
import { judge, type Site } from '../services/apply/judge.ts';
import { manifestText } from '../services/apply/unpack.ts';
import type { Output } from './status.ts';

/** What is to be judged, and the form of the answer. */
export interface PlanOptions {
  /** A bundle, or a directory with a bundle's files. */
  bundle: string;
  json: boolean;
  /** Ends the work; the temporary directory goes all the same. */
  signal: AbortSignal;
}

/**
 * `deployd plan`: exit 0 when nothing is refused, else 1. Without settings the bundle is judged by itself. No network, no
 * lock, no token; nothing is written but a temporary directory, which goes again.
 */
export async function plan(settings: Settings | null, options: PlanOptions, out: Output): Promise<number> {
  try {
    const made = await planOfBundle(settings, options);
    out.log(options.json ? JSON.stringify(made, null, 2) : planText(made));
    return made.refusals.length === 0 ? 0 : endings.refused.meta.exit;
  } catch (error) {
    const { ending, lines } = outcomeOf(error, false);
    for (const line of lines) out.error(line);
    return endings[ending].meta.exit;
  }
}

async function planOfBundle(settings: Settings | null, { bundle, signal }: PlanOptions): Promise<Plan> {
  const found = await stat(bundle).catch((error: unknown) => {
    throw diskFault('read', bundle, error);
  });
  const { limits } = settings ?? (mergeDefaults({}) as unknown as Settings);
  const site = settings && (await siteOf(settings, signal));
  if (found.isDirectory())
    return planOfFiles({ sha: null, dir: bundle, signal }, site, () => judgeDirectory(bundle, limits, signal));
  const sha = await digestOf(bundle, signal);
  const dir = await mkdtemp(join(tmpdir(), 'deployd-plan-'));
  try {
    return await planOfFiles({ sha, dir, signal }, site, () => unpack({ file: bundle, into: dir, limits, signal }));
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** `fill` sees to it that `dir` holds the files, and tells them, or refuses. */
async function planOfFiles(
  { sha, dir, signal }: { sha: Sha | null; dir: string; signal: AbortSignal },
  site: Site | null,
  fill: () => Promise<Contents>,
): Promise<Plan> {
  try {
    const contents = await fill();
    const text = await manifestText(dir);
    const parsed = parseManifest(text, site?.settings.env ?? envOf(text));
    if ('refusal' in parsed) return endedPlan([parsed.refusal], sha);
    const judged = await judge({ sha, dir, manifest: parsed.manifest, contents }, site, signal);
    return judged.plan;
  } catch (error) {
    if (error instanceof Fault && error.ending === 'refused') return endedPlan([refusalOf(error)], sha);
    throw error;
  }
}

/** The host as it is; nothing is opened for writing. */
async function siteOf(settings: Settings, signal: AbortSignal): Promise<Site> {
  const { container_host, env, state_dir } = settings;
  const containers = createContainers({ containerHost: container_host, project: `deployd-${env}`, signal });
  return {
    settings,
    containers,
    releases: new Releases(state_dir, join(state_dir, env)),
    state: await stateOf(settings),
    production: false,
  };
}

async function stateOf({ env, state_dir }: Settings): Promise<Site['state']> {
  const mayRead = await access(state_dir, constants.R_OK | constants.X_OK).then(() => true, isENOENT);
  if (!mayRead) return { unknown: `${state_dir} is for its owner alone: run as that user, or as root` };
  const state = await readState(state_dir).catch(messageOf);
  if (typeof state === 'string') return { unknown: state };
  if (state === null) return { is: null };
  if (isFault(state)) return { unknown: state.fault };
  return state.env === env ? { is: state } : { unknown: `state.json belongs to env ${state.env}` };
}

function messageOf(error: unknown): string {
  if (error instanceof Fault) return error.message;
  throw error;
}

/** A refusal that was thrown, as the value it was made of. */
function refusalOf({ code, message }: Fault): Refusal {
  return { code: code as RefusalCode, detail: message.slice(`refused: ${code ?? ''}: `.length) };
}
