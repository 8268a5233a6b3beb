import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { diffSideOf, withBundleAt } from '../../bundle/bundleAt.ts';
import { type BundleDiff, diffOf, type DiffSide, formatDiff } from '../../bundle/bundleDiff.rules.ts';
import { defaultLimits as limits } from '../../api/checkIn.rules.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { type Api, path, wholeSha } from '../core/client.ts';
import type { BundleDetails } from '../core/types.ts';
import { downloadArchive } from './storedBundles.ts';
import { refusedBundle, withBundleFaults } from './bundleFiles.ts';

const { signal } = new AbortController();

/** `deployctl bundle diff`. */
export function addBundleDiff(bundle: Command, run: Run): void {
  bundle
    .command('diff')
    .description('Compare two bundles: services, images, variables, secrets, files and privileges')
    .argument('<before>', 'archive, directory, or digest of a bundle in the tenancy service')
    .argument('<after>', 'archive, directory or digest to compare it with')
    .action(run(diff));
}

async function diff(session: Session, [before, after]: [string, string]): Promise<Result> {
  const areStored = isDigest(before) && isDigest(after);
  const told = areStored ? await diffByService(await session.api(), before, after) : null;
  const json = told ?? diffOf(await readSide(session, before), await readSide(session, after));
  return { json, text: formatDiff(json) };
}

/** A file of the name of a digest is that file. */
function isDigest(place: string): boolean {
  return /^[0-9a-f]{8,64}$/.test(place) && !existsSync(place);
}

/**
 * The service's comparison of two bundles of one environment; null for bundles of two environments, which it does not
 * compare.
 */
async function diffByService(api: Api, before: string, after: string): Promise<BundleDiff | null> {
  const { env, sha256 } = await findStored(api, before);
  const other = await findStored(api, after);
  if (other.env !== env) return null;
  const call = { path: path`/v1/envs/${env}/bundles/${sha256}/diff`, query: { to: other.sha256 } };
  return api.call<BundleDiff>({ method: 'GET', ...call });
}

async function findStored(api: Api, begins: string): Promise<BundleDetails> {
  const sha256 = await wholeSha(api, begins);
  return api.call<BundleDetails>({ method: 'GET', path: path`/v1/bundles/${sha256}` });
}

/** A bundle whose manifest and compose files can be read, whatever else a host would refuse of it. */
async function readSide(session: Session, place: string): Promise<DiffSide> {
  if (!isDigest(place)) return readSideAt(place);
  const api = await session.api();
  const dir = await mkdtemp(join(tmpdir(), 'deployctl-'));
  try {
    const file = join(dir, 'archive');
    await downloadArchive(api, await wholeSha(api, place), file);
    return await readSideAt(file);
  } finally {
    await rm(dir, { recursive: true });
  }
}

function readSideAt(file: string): Promise<DiffSide> {
  return withBundleFaults(() =>
    withBundleAt({ path: file, limits, signal }, async (bundle) => {
      const side = await diffSideOf(bundle, signal);
      if ('refusals' in side) throw refusedBundle(side.refusals);
      return side;
    }),
  );
}
