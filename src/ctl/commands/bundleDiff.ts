import type { Command } from 'commander';
import { withBundleAt } from '../../bundle/bundleAt.ts';
import { bundleFactsOf } from '../../bundle/readBundle.ts';
import { diffOf, type DiffSide } from '../../bundle/rules/diff/bundleDiff.ts';
import { formatDiff } from '../../bundle/rules/diff/formatDiff.ts';
import { defaultLimits as limits } from '../../protocol/defaultLimits.ts';
import { refusedBundle, withBundleFaults } from '../input/bundleFaults.ts';
import type { Result, Run, Session } from '../session.ts';

const { signal } = new AbortController();

/** `deployctl bundle diff`. */
export function addBundleDiff(bundle: Command, run: Run): void {
  bundle
    .command('diff')
    .description('what differs between two bundles, for a review: services, images, variables, secrets, files, powers')
    .argument('<before>', 'an archive, or a directory with the files of one')
    .argument('<after>', 'another one')
    .action(run(diff));
}

async function diff(_: Session, [before, after]: [string, string]): Promise<Result> {
  const json = diffOf(await readSide(before), await readSide(after));
  return { json, text: formatDiff(json) };
}

/** A bundle whose manifest and compose files can be read, whatever else a host would refuse of it. */
async function readSide(place: string): Promise<DiffSide> {
  return withBundleFaults(() =>
    withBundleAt({ path: place, limits, signal }, async (bundle) => {
      if ('refusal' in bundle) throw refusedBundle([bundle.refusal]);
      const facts = await bundleFactsOf(bundle, signal);
      if (facts.refusals.length > 0) throw refusedBundle(facts.refusals);
      return { facts, contents: bundle.contents };
    }),
  );
}
