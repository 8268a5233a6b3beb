import { join } from 'node:path';
import { failedFault, Fault, outcomeOf, refusedFault } from '../../../machines/fault.ts';
import type { Sha } from '../../../machines/types.ts';
import { diffSideOf, withBundleAt } from '../../bundle/bundleAt.ts';
import { type BundleDiff, diffOf, type DiffSide, formatDiff } from '../../bundle/bundleDiff.rules.ts';
import type { Paint, PaintStyle } from '../../core/text.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Output, Terminal } from '../journal/terminal.ts';
import { Releases, registerHostSecrets } from '../release/releases.ts';
import type { Vault } from '../secrets/vault.ts';
import { statIfExists } from '../state/fileSystem.ts';
import { isInvalidState, type State } from '../state/state.rules.ts';
import { readState } from '../state/stateFile.ts';
import { openCredentials } from '../token/credentials.ts';
import { shortSha } from './formatTrace.rules.ts';

/** Options of `deployd diff`. */
export interface DiffOptions {
  /** Path of a bundle to compare with; by default the desired one of the last check-in. */
  bundle: string | undefined;
  json: boolean;
  /** Collects the secret values on this host. */
  vault: Vault;
  /** Aborts the comparison; temporary directories are removed anyway. */
  signal: AbortSignal;
}

/**
 * `deployd diff`: how the desired bundle, or another one, differs from the applied one. Exits with 0 without
 * differences, otherwise with 1. Uses no network or lock, and writes only to a temporary directory.
 */
export async function diff(
  settings: Settings,
  options: DiffOptions,
  { terminal, out }: { terminal: Terminal; out: Output },
): Promise<number> {
  const { vault } = options;
  try {
    const releases = new Releases(settings.state_dir, join(settings.state_dir, settings.env));
    await registerHostSecrets({ credentials: openCredentials(settings), releases, vault });
    const found = redacted(await compare(settings, releases, options), vault);
    if (options.json) out.log(JSON.stringify(found, null, 2));
    else await terminal.show(paintDiff(formatDiff(found), terminal.paint));
    return found.same_content ? 0 : 1;
  } catch (error) {
    for (const line of outcomeOf(error, false).lines) out.error(vault.redactor().redact(line));
    return 1;
  }
}

async function compare(settings: Settings, releases: Releases, { bundle, signal }: DiffOptions): Promise<BundleDiff> {
  const state = await stateOf(settings);
  const applied = state?.applied_sha ?? null;
  if (applied === null)
    throw new Fault('failed', 'nothing is applied on this host: deployd plan shows what an apply would do');
  const sideAt = (path: string) => readSide(path, settings, signal);
  const before = await sideAt(await archiveOf(releases, applied, 'applied'));
  const path = bundle ?? (await archiveOf(releases, desiredIn(state), 'desired'));
  return diffOf(before, await sideAt(path));
}

async function stateOf({ state_dir, env }: Settings): Promise<State | null> {
  const state = await readState(state_dir);
  if (state !== null && isInvalidState(state)) throw failedFault('STATE_CORRUPT', state.fault);
  return state?.env === env ? state : null;
}

function desiredIn(state: State | null): Sha {
  const { action = null, desired_sha: sha = null } = state?.last_check_in ?? {};
  if (action === 'down') throw new Fault('failed', 'the desired state is that the project is down');
  if (sha === null) throw new Fault('failed', 'no bundle is desired as of the last check-in');
  return sha;
}

/** The archive of a bundle, which a tick downloads and keeps as long as it may need it. */
async function archiveOf(releases: Releases, sha: Sha, which: 'applied' | 'desired'): Promise<string> {
  const path = releases.bundleOf(sha);
  if ((await statIfExists(path)) !== null) return path;
  const cure =
    which === 'desired' ? `; deployctl bundle fetch ${shortSha(sha)} gets it, deployd diff FILE compares it` : '';
  throw new Fault('failed', `the ${which} bundle ${sha} is not on this host${cure}`);
}

async function readSide(path: string, { env, limits }: Settings, signal: AbortSignal): Promise<DiffSide> {
  return withBundleAt({ path, env, limits, signal }, async (bundle) => {
    const side = await diffSideOf(bundle, signal);
    if ('refusals' in side) throw refusedFault(side.refusals);
    return side;
  });
}

/** Bundles contain no secrets, unless an author wrote one into them. */
function redacted(found: BundleDiff, vault: Vault): BundleDiff {
  const redactor = vault.redactor();
  const text = JSON.stringify(found, (_key, value: unknown) =>
    typeof value === 'string' ? redactor.redact(value) : value,
  );
  return JSON.parse(text) as BundleDiff;
}

const styles: Readonly<Record<string, PaintStyle>> = { '+': 'green', '-': 'red', '~': 'yellow' };

/** Colours the lines of differences by their sign; labels stay as they are. */
export function paintDiff(text: string, paint: Paint): string {
  return text
    .split('\n')
    .map((line) => paintLine(line, paint))
    .join('\n');
}

function paintLine(line: string, paint: Paint): string {
  const [, label, difference = '', sign = ''] = /^( {2}[a-z]* +)(([-+~]) .*)$/.exec(line) ?? [];
  return label === undefined ? line : label + paint(styles[sign] ?? 'plain', difference);
}
