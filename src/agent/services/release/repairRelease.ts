import { createHash } from 'node:crypto';
import type { Sha } from '../../../../machines/types.ts';
import { findDamage, repairFiles } from '../../adapters/release/releaseRepair.ts';
import { type BundleContents, type Inventory, recordRepairs } from '../../../bundle/archive/inventory.rules.ts';
import { contentSources, writablePaths } from '../../../bundle/compose/composeContents.rules.ts';
import type { ComposeFile } from '../../../bundle/compose/composeNode.rules.ts';
import type { VerifiedImage } from '../../rules/release/releaseRecord.ts';
import { overrideOf } from '../apply/override.ts';
import type { Dependencies } from '../dependencies.ts';

/** A bundle in staging, with the input of its override. */
export interface StagedBundle {
  sha: Sha;
  contents: BundleContents;
  files: ComposeFile[];
  env: ReadonlyMap<string, string>;
  images: readonly VerifiedImage[];
}

/** The inventory of a release and its override. */
export async function describeRelease(deps: Dependencies, staged: StagedBundle, repairs: Inventory['repairs']) {
  const { sha, contents, files } = staged;
  const override = await overrideOf(deps, { ...staged, repairs });
  const reached = [...new Set([...contentSources(files).values()].flatMap((each) => each.files))].sort();
  const derived = { reached, writable: writablePaths(files), override: sha256(override), repairs };
  return { override, inventory: { schema: 1 as const, sha, ...contents, ...derived } };
}

/**
 * Replaces the differing files of an existing release from staging and logs them. Repairs that require a container to be
 * recreated are recorded first, so that a crash does not lose them. Returns the override; the caller writes it.
 */
export async function repairRelease(
  deps: Dependencies,
  { strict, ...staged }: StagedBundle & { strict: boolean },
  signal: AbortSignal,
): Promise<string> {
  const { releases, tick } = deps;
  const { sha, contents, files } = staged;
  const before = await releases.readInventory(sha);
  const compared = { dir: releases.pathOf(sha), contents, writable: writablePaths(files), strict };
  const damages = await findDamage(compared, signal);
  const mounted = [...contentSources(files).values()].flatMap((each) => each.files);
  const mountedDamages = damages.filter((path) =>
    mounted.some((source) => path === source || path.startsWith(`${source}/`)),
  );
  const { inventory, override } = await describeRelease(
    deps,
    staged,
    recordRepairs(before?.repairs ?? [], mountedDamages),
  );
  if (JSON.stringify(before) !== JSON.stringify(inventory)) await releases.writeInventory(sha, inventory);
  const { movedAside, skipped } = await repairFiles(damages, { ...compared, from: releases.stagingOf(sha) }, signal);
  if (damages.length > 0) tick.journal.warn(`release ${sha} was damaged; put right: ${formatPaths(damages)}`);
  if (skipped.length > 0)
    tick.journal.warn(`a container has closed its directory to the agent; not put right: ${formatPaths(skipped)}`);
  for (const [path, name] of movedAside)
    tick.journal.warn(`what stood in the place of ${path} is kept as ${name} beside it`);
  return override;
}

/** Paths for a journal line, at most `maxListed` of them. */
export function formatPaths(paths: readonly string[]): string {
  const more = paths.length - maxListed;
  return paths.slice(0, maxListed).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Paths that a journal line names at most. */
const maxListed = 5;

/** The sha256 of a text, in hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
