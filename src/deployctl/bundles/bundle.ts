import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join, resolve, sep } from 'node:path';
import type { Command } from 'commander';
import { formatFault } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { defaultLimits as limits, maxPushedSequence } from '../../api/checkIn.rules.ts';
import type { HostPolicy } from '../../api/hostPolicy.rules.ts';
import { changeManifest, parseManifest } from '../../api/manifest.rules.ts';
import { formatLeftOut, IGNORE_NAME, type LeftOut } from '../../bundle/archive/leftOut.rules.ts';
import { packContents, type PackedBundle, readBundleDirectory, UNFINISHED_NAME } from '../../bundle/archive/pack.ts';
import { diffSideOf, planAlone, withBundleAt } from '../../bundle/bundleAt.ts';
import { type BundleDiff, diffOf, type DiffSide, formatDiff } from '../../bundle/bundleDiff.rules.ts';
import { formatPlan } from '../../bundle/plan/formatPlan.rules.ts';
import type { Plan } from '../../bundle/plan/plan.rules.ts';
import { readManifestText } from '../../bundle/readBundle.ts';
import { withDiskFault } from '../../core/errors.rules.ts';
import { judgeFiles } from '../../signatures/signatureFiles.ts';
import { readPolicy, readTrustFile } from '../config/configFiles.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { type Api, path, wholeSha } from '../core/client.ts';
import { envOf } from '../core/input.ts';
import { CtlError, exits, refusedBundle, usageError, withBundleFaults } from '../core/ctlError.ts';
import { createNewFile, fileUnwritable } from '../core/files.ts';
import { formatFacts, harmless } from '../core/table.ts';
import type { BundleDetails } from '../core/types.ts';
import { addBundleImport } from './bundleImport.ts';
import { addBundleSign } from './bundleSign.ts';
import { addBundleFetch, addStoredBundles, downloadArchive } from './storedBundles.ts';

interface PackOptions extends ContentOptions {
  out?: string;
  next?: boolean;
}

/** How the directory of a bundle is read. */
export interface ContentOptions {
  policy?: string;
  /** Takes the place of the version in the manifest. */
  version?: string;
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
    .option('--version <version>', versionOption)
    .option('--policy <file>', policyOption)
    .action(run(pack));
  addBundleSign(bundle, run, readSide);
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
  const content = await readContent(session, dir, options);
  const { env, name, version } = content.manifest;
  const sequence = next ? await reserveSequence(session, env) : content.manifest.sequence;
  const { sha256, sizeBytes, leftOut } = await packWith(file, content, sequence);
  const json = { file, sha256, size_bytes: sizeBytes, env, name, version, sequence, left_out: leftOut };
  const facts: [string, string | null][] = [
    ['bundle', `${name} ${version}, sequence ${sequence}, for environment ${env}`],
    ['sha256', sha256],
    ['bytes', String(sizeBytes)],
    ['file', file],
    ['left out', formatLeftOut(leftOut)],
  ];
  return { json, text: formatFacts(facts) };
}

/** The directory of a bundle, with its manifest. */
export interface BundleContent {
  dir: string;
  text: string;
  manifest: Manifest;
}

/** Reads the directory of a bundle; throws what hosts would refuse. */
export async function readContent(
  session: Session,
  dir: string,
  { policy, version }: ContentOptions,
): Promise<BundleContent> {
  const { text, manifest } = await readUnrefused(session, dir, readPolicy(policy));
  if (version === undefined) return { dir, text, manifest };
  const changed = changeManifest(text, () => ({ version }));
  const parsed = parseManifest(changed, manifest.env);
  if ('refusal' in parsed) throw usageError(parsed.refusal.code, parsed.refusal.detail);
  return { dir, text: changed, manifest: parsed.manifest };
}

/** Packs the directory of a bundle with a sequence; the archive replaces an existing file. */
export function packWith(
  file: string,
  { dir, text, manifest }: BundleContent,
  sequence: number,
): Promise<PackedBundle & { leftOut: LeftOut }> {
  const packed = sequence === manifest.sequence ? text : changeManifest(text, () => ({ sequence }));
  return packInto(file, { dir, manifest: packed });
}

/**
 * Reads the manifest of a directory, also as text. Throws what hosts would refuse, and then reports the files that were
 * left out.
 */
async function readUnrefused(
  { io }: Session,
  dir: string,
  policy: HostPolicy,
): Promise<{ text: string; manifest: Manifest }> {
  return withBundleFaults(() =>
    withBundleAt({ path: dir, limits, signal }, async (bundle) => {
      if (bundle.sha !== null) throw usageError('DIRECTORY_INVALID', `${dir} is not a directory`);
      if (existsSync(join(dir, UNFINISHED_NAME))) throw unfinished(dir);
      const { refusals, notices } = await planAlone(bundle, signal, { policy });
      for (const notice of notices) io.stderr.write(`${harmless(`warning: ${formatFault(notice)}`)}\n`);
      if ('refusal' in bundle) throw refusedBundle(refusals);
      const leftOut = formatLeftOut(bundle.contents.leftOut ?? noneLeftOut);
      if (refusals.length > 0 && leftOut !== null)
        io.stderr.write(`left out: ${harmless(leftOut)}; a line such as !/FILE in ${IGNORE_NAME} keeps a file\n`);
      if (refusals.length > 0) throw refusedBundle(refusals);
      return { text: (await readManifestText(dir)) ?? '', manifest: bundle.manifest };
    }),
  );
}

function unfinished(dir: string): CtlError {
  return new CtlError({
    exit: exits.failed,
    code: 'IMPORT_UNFINISHED',
    message: `${dir} was imported, and differs from its project; ${UNFINISHED_NAME} lists the differences`,
    remedy: `correct the files; \`deployctl bundle import --check\` compares again. Or remove ${UNFINISHED_NAME}`,
  });
}

const noneLeftOut: LeftOut = { count: 0, paths: [] };

/** Reserves the next sequence; throws PROTOCOL_INVALID for a number that no bundle may have. */
export async function reserveSequence(session: Session, env: string): Promise<number> {
  const api = await session.api();
  const { sequence } = await api.call<{ sequence?: unknown }>({ method: 'POST', path: path`/v1/envs/${env}/sequence` });
  if (Number.isInteger(sequence) && Number(sequence) >= 1 && Number(sequence) <= maxPushedSequence)
    return Number(sequence);
  const message = `the tenancy service reserved the sequence ${JSON.stringify(sequence)}, which is not an integer from 1 to ${maxPushedSequence}`;
  throw new CtlError({ exit: exits.failed, code: 'PROTOCOL_INVALID', message });
}

/** Packs into a file, replacing an existing one. */
async function packInto(
  file: string,
  { dir, manifest }: { dir: string; manifest: string },
): Promise<PackedBundle & { leftOut: LeftOut }> {
  const temporary = `${file}.${process.pid}.tmp`;
  return withBundleFaults(async () => {
    const contents = await readBundleDirectory(dir, limits, signal);
    const packed = await packContents({ dir, manifest, file: temporary, signal }, contents);
    try {
      await withDiskFault('write', file, () => rename(temporary, file));
    } finally {
      await rm(temporary, { force: true });
    }
    return { ...packed, leftOut: contents.leftOut ?? noneLeftOut };
  });
}

/** `deployctl bundle init`. */
function addBundleInit(bundle: Command, run: Run): void {
  bundle
    .command('init')
    .description('Create a directory with an example manifest.json and compose.yaml; overwrite nothing')
    .argument('<directory>', 'directory to create; its name becomes the name of the bundle')
    .option('--env <env>', 'environment of the bundle (default: the only one of the service)')
    .action(run(init));
}

async function init(session: Session, [directory]: [string], { env: named }: { env?: string }): Promise<Result> {
  const env = await envOf(session, named);
  const dir = resolve(directory);
  const name = basename(dir);
  const manifest = { schema: 1, name, env, version: '1', sequence: 1, compose: ['compose.yaml'], secrets: [] };
  const text = `${JSON.stringify(manifest, null, 2)}\n`;
  const parsed = parseManifest(text, env);
  if ('refusal' in parsed) throw usageError(parsed.refusal.code, parsed.refusal.detail);
  const files = { 'manifest.json': text, 'compose.yaml': compose };
  await createFiles(dir, files);
  const names = Object.keys(files);
  const facts: [string, string][] = [
    ['bundle', `${name}, for environment ${env}`],
    ['directory', dir],
    ['files', names.join(', ')],
  ];
  return { json: { directory: dir, env, name, files: names }, text: formatFacts(facts) };
}

const compose = `services:
  web:
    image: nginx:1.29-alpine
    restart: unless-stopped
    ports: ['8080:80']
    healthcheck:
      test: [CMD, wget, -q, --spider, http://127.0.0.1/]
      interval: 10s
`;

/** Creates all files or none; creates the directory if it is missing. */
async function createFiles(dir: string, files: Record<string, string>): Promise<void> {
  await mkdir(dir, { recursive: true }).catch((error: unknown) => {
    throw fileUnwritable(dir, error);
  });
  const created: string[] = [];
  try {
    for (const [name, text] of Object.entries(files)) {
      const file = join(dir, name);
      await using opened = await createNewFile(file);
      created.push(file);
      await opened.writeFile(text);
    }
  } catch (error) {
    for (const file of created) await rm(file, { force: true });
    throw fileUnwritable(dir, error);
  }
}

interface VerifyOptions {
  policy?: string;
  trust?: string;
  signatures?: string[];
}

/** The description of the option `--version`. */
export const versionOption = 'version of the bundle, in place of the one in its manifest';

/** The description of the option `--policy` of several commands. */
export const policyOption = 'file with the key `policy` of config.yaml: check the bundle like a host with this policy';

/** `deployctl bundle verify`. */
function addBundleVerify(bundle: Command, run: Run): void {
  bundle
    .command('verify')
    .description('Check whether hosts would refuse a bundle')
    .argument('<bundle>', 'archive or directory')
    .option('--policy <file>', policyOption)
    .option(
      '--trust <file>',
      'file with trusted signers (`trust.bundles`, as in config.yaml): verify the signatures as a host does',
    )
    .option('--signatures <file...>', 'signature files for --trust (default: ARCHIVE.sigstore.json)')
    .action(run(verify));
}

export async function verify(_: Session, [place]: [string], options: VerifyOptions): Promise<Result & { json: Plan }> {
  const { trust, signatures = [`${place}.sigstore.json`] } = options;
  if (trust === undefined && options.signatures)
    throw usageError('TRUST_MISSING', 'signatures need trusted signers to verify them', 'name a file with --trust');
  const host = { policy: readPolicy(options.policy), requiresSignatures: trust !== undefined };
  const planned = await withBundleFaults(() =>
    withBundleAt({ path: place, limits, signal }, (bundle) => planAlone(bundle, signal, host)),
  );
  const plan = trust === undefined ? planned : await withSigners(planned, trust, signatures);
  if (plan.refusals.length > 0) throw refusedBundle(plan.refusals);
  return { json: plan, text: formatPlan(plan) };
}

/** A plan with the verdict of a host's trust on the signatures; a directory that is not a bundle has no signatures. */
async function withSigners(plan: Plan, trustFile: string, files: string[]): Promise<Plan> {
  const trust = await readTrustFile(trustFile);
  const { sha, bundle } = plan;
  if (sha === null) throw usageError('ARCHIVE_INVALID', 'a directory cannot be signed', 'name the archive of it');
  if (bundle === null) return plan;
  const { signers, refusal } = await judgeFiles({ trust, problems: [] }, { ...bundle, sha256: sha }, files);
  return { ...plan, signers, refusals: [...(refusal ? [refusal] : []), ...plan.refusals] };
}

/** `deployctl bundle diff`. */
function addBundleDiff(bundle: Command, run: Run): void {
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
export function isDigest(place: string): boolean {
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
export async function readSide(session: Session, place: string): Promise<DiffSide> {
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
