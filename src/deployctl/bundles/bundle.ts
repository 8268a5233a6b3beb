import { rename, rm } from 'node:fs/promises';
import { basename, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import type { Manifest } from '../../../machines/types.ts';
import { planAlone, withBundleAt } from '../../bundle/bundleAt.ts';
import { packDirectory, type PackedBundle } from '../../bundle/archive/pack.ts';
import { readManifestText } from '../../bundle/readBundle.ts';
import { withDiskFault } from '../../core/errors.rules.ts';
import { defaultLimits as limits } from '../../api/checkIn.rules.ts';
import type { HostPolicy } from '../../api/hostPolicy.rules.ts';
import { changeManifest } from '../../api/manifest.rules.ts';
import { readPolicy } from '../config/policyFile.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { path } from '../core/client.ts';
import { usageError } from '../core/ctlError.ts';
import { formatFacts } from '../core/table.ts';
import { addBundleDiff } from './bundleDiff.ts';
import { addBundleFetch } from './bundleFetch.ts';
import { refusedBundle, withBundleFaults } from './bundleFiles.ts';
import { addBundleImport } from './bundleImport.ts';
import { addBundleInit } from './bundleInit.ts';
import { addBundleSign } from './bundleSign.ts';
import { addBundleVerify, policyOption } from './bundleVerify.ts';
import { addStoredBundles } from './storedBundles.ts';

interface PackOptions {
  policy?: string;
  out?: string;
  next?: boolean;
}

const { signal } = new AbortController();

/** `deployctl bundle init|import|verify|pack|sign|diff|list|show|fetch`. */
export function addBundle(program: Command, run: Run): void {
  const bundle = program
    .command('bundle')
    .helpCommand(false)
    .description('Create, check, import, sign and list bundles');
  addBundleInit(bundle, run);
  addBundleImport(bundle, run);
  addBundleVerify(bundle, run);
  bundle
    .command('pack')
    .description('Check a directory and create an archive from it; the same files give the same archive')
    .argument('<directory>', 'directory with manifest.json and the compose files that it names')
    .option('--out <file>', 'archive to create (default: DIRECTORY.tar.gz)')
    .option('--next', 'use the next sequence number of the environment, which the service reserves')
    .option('--policy <file>', policyOption)
    .action(run(pack));
  addBundleSign(bundle, run);
  addBundleDiff(bundle, run);
  addStoredBundles(bundle, run);
  addBundleFetch(bundle, run);
}

async function pack(session: Session, [dir]: [string], options: PackOptions): Promise<Result> {
  const { out, next = false } = options;
  const file = resolve(out ?? `${basename(resolve(dir))}.tar.gz`);
  if (file.startsWith(`${resolve(dir)}${sep}`)) {
    throw usageError('OUT_INVALID', `${file} would be a part of the bundle`, 'name another file by --out');
  }
  const { text, manifest } = await readUnrefused(dir, readPolicy(options.policy));
  const { env, name, version } = manifest;
  const sequence = next ? await reserveSequence(session, env) : manifest.sequence;
  const packed = next ? changeManifest(text, () => ({ sequence })) : text;
  const { sha256, sizeBytes } = await packInto(file, { dir, manifest: packed });
  const json = { file, sha256, size_bytes: sizeBytes, env, name, version, sequence };
  const facts: [string, string][] = [
    ['bundle', `${name} ${version}, sequence ${sequence}, for env ${env}`],
    ['sha256', sha256],
    ['bytes', String(sizeBytes)],
    ['file', file],
  ];
  return { json, text: formatFacts(facts) };
}

/** The manifest of a directory, as text too; throws what hosts would refuse. */
async function readUnrefused(dir: string, policy: HostPolicy): Promise<{ text: string; manifest: Manifest }> {
  return withBundleFaults(() =>
    withBundleAt({ path: dir, limits, signal }, async (bundle) => {
      if (bundle.sha !== null) throw usageError('DIRECTORY_INVALID', `${dir} is no directory`);
      const { refusals } = await planAlone(bundle, signal, policy);
      if ('refusal' in bundle || refusals.length > 0) throw refusedBundle(refusals);
      return { text: (await readManifestText(dir)) ?? '', manifest: bundle.manifest };
    }),
  );
}

async function reserveSequence(session: Session, env: string): Promise<number> {
  const api = await session.api();
  const { sequence } = await api.call<{ sequence: number }>({ method: 'POST', path: path`/v1/envs/${env}/sequence` });
  return sequence;
}

/** Packs into a file, in place of an older one. */
async function packInto(file: string, { dir, manifest }: { dir: string; manifest: string }): Promise<PackedBundle> {
  const temporary = `${file}.${process.pid}.tmp`;
  return withBundleFaults(async () => {
    const packed = await packDirectory({ dir, manifest, file: temporary, signal }, limits);
    try {
      await withDiskFault('write', file, () => rename(temporary, file));
    } finally {
      await rm(temporary, { force: true });
    }
    return packed;
  });
}
