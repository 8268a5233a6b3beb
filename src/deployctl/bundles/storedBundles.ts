import { type FileHandle, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { addSignatures, type Api, path, readPages, wholeSha } from '../core/client.ts';
import { CtlError, exits } from '../core/ctlError.ts';
import { createNewFile, fileUnwritable, openUpload, readSignature, sha256Of } from '../core/files.ts';
import { collectOption, countOption, requireEnv } from '../core/input.ts';
import {
  formatAge,
  formatFacts,
  formatTable,
  formatTime,
  shorten,
  shortSha,
  signatureFacts,
  signatureStepFacts,
  warningFacts,
} from '../core/table.ts';
import type { Bundle, BundleDetails, Env, PushedBundle, ReceivedSignature } from '../core/types.ts';

/** `deployctl bundle list|show`. */
export function addStoredBundles(bundle: Command, run: Run): void {
  bundle
    .command('list')
    .description('List the bundles in the tenancy service, newest first')
    .option('--env <env>', 'only bundles of this environment')
    .option('--limit <count>', 'maximum number of entries', countOption)
    .action(run(listBundles));
  bundle
    .command('show')
    .description('Show a bundle in the tenancy service')
    .argument('<sha>', 'digest of the bundle, or its first characters')
    .action(run(showBundle));
}

async function listBundles(
  session: Session,
  _operands: [],
  { env, limit = Infinity }: { env?: string; limit?: number },
): Promise<Result> {
  const call = { path: '/v1/bundles', query: { env }, key: 'bundles', cursor: 'after', limit } as const;
  const api = await session.api();
  const json = await readPages<'bundles', Bundle>(api, call);
  await requireEnv(api, env, json.bundles);
  const desired = await desiredBundles(api);
  const rows = json.bundles.map((bundle) => [
    shortSha(bundle.sha256),
    desired.has(`${bundle.env} ${bundle.sha256}`) ? 'desired' : '-',
    bundle.env,
    bundle.name,
    bundle.version,
    String(bundle.sequence),
    String(bundle.size_bytes),
    bundle.signature ?? '-',
    formatAge(bundle.received_at, session.nowMs),
    bundle.received_from,
  ]);
  const head = ['SHA256', 'STATE', 'ENV', 'NAME', 'VERSION', 'SEQUENCE', 'BYTES', 'SIGNATURE', 'AGE', 'FROM'];
  return { json, text: formatTable(head, rows, session.width) };
}

/** The desired bundle of each environment that the caller may see. */
async function desiredBundles(api: Api): Promise<Set<string>> {
  const { envs } = await api.call<{ envs: Env[] }>({ method: 'GET', path: '/v1/envs' });
  return new Set(envs.map(({ name, desired_sha }) => `${name} ${desired_sha}`));
}

async function showBundle(session: Session, [sha]: [string]): Promise<Result> {
  const api = await session.api();
  const sha256 = await wholeSha(api, sha);
  const json = await api.call<BundleDetails>({ method: 'GET', path: path`/v1/bundles/${sha256}` });
  return { json, text: formatBundle(json, session.nowMs) };
}

function formatBundle(bundle: BundleDetails, nowMs: number): string {
  const {
    name,
    version,
    sequence,
    env,
    production,
    allow_privileged,
    allow_rollback,
    emergency,
    variables = {},
    profiles = [],
  } = bundle;
  const allowed = [
    allow_privileged && 'allow_privileged',
    allow_rollback && 'allow_rollback',
    emergency && 'emergency',
  ].filter(Boolean);
  return formatFacts([
    ['bundle', `${name} ${version}, sequence ${sequence}, for environment ${env}`],
    ['sha256', bundle.sha256],
    ['bytes', String(bundle.size_bytes)],
    ['production', production ? 'yes' : 'no'],
    ['flags', allowed.join(', ') || null],
    ...signatureFacts(bundle),
    ['received', `${formatTime(bundle.received_at, nowMs)} from ${bundle.received_from}`],
    ['profiles', profiles.join(', ') || null],
    ...Object.entries(variables).map(([key, value]): [string, string] => ['variable', `${key}=${shorten(value, 80)}`]),
  ]);
}

/** `deployctl bundle fetch`. */
export function addBundleFetch(bundle: Command, run: Run): void {
  bundle
    .command('fetch')
    .description('Download a bundle from the tenancy service and verify its digest')
    .argument('<sha>', 'digest of the bundle, or its first characters')
    .requiredOption('--out <file>', 'archive to create; an existing file is not overwritten')
    .action(run(fetchBundle));
}

async function fetchBundle(session: Session, [sha]: [string], { out }: { out: string }): Promise<Result> {
  const api = await session.api();
  const sha256 = await wholeSha(api, sha);
  const file = resolve(out);
  const size_bytes = await downloadArchive(api, sha256, file);
  const facts: [string, string][] = [
    ['sha256', sha256],
    ['bytes', String(size_bytes)],
    ['file', file],
  ];
  return { json: { file, sha256, size_bytes }, text: formatFacts(facts) };
}

/** Writes a new file, which is removed again unless its bytes match the digest; returns their number. */
export async function downloadArchive(api: Api, sha256: string, file: string): Promise<number> {
  await using opened = await createNewFile(file);
  try {
    const receive = (bytes: Readable) => writeInto(opened, file, bytes);
    await api.call({ method: 'GET', path: path`/v1/bundles/${sha256}/archive`, receive });
    const received = await sha256Of(file);
    if (received !== sha256) throw wrongDigest(received);
    return (await opened.stat()).size;
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  }
}

async function writeInto(opened: FileHandle, file: string, bytes: Readable): Promise<void> {
  const onDisk = (work: Promise<unknown>) =>
    work.catch((error: unknown) => {
      throw fileUnwritable(file, error);
    });
  await onDisk(opened.truncate());
  let position = 0;
  for await (const chunk of bytes as AsyncIterable<Buffer>) {
    await onDisk(opened.write(chunk, 0, chunk.length, position));
    position += chunk.length;
  }
}

function wrongDigest(received: string): CtlError {
  const message = `the bytes that the service sent have the sha256 ${received}`;
  return new CtlError({ exit: exits.failed, code: 'BUNDLE_DIGEST', message });
}

/** `deployctl push`. */
export function addPush(program: Command, run: Run): void {
  program
    .command('push')
    .description('Upload a bundle; refused if all hosts of its environment would refuse it for the same reason')
    .argument('<bundle>', 'archive made by `deployctl bundle pack`')
    .option('--signature <file>', 'signature file to upload with it; repeatable', collectOption)
    .action(run(push));
}

async function push(session: Session, [file]: [string], options: { signature?: string[] }): Promise<Result> {
  const signatures = (options.signature ?? []).map(readSignature);
  const api = await session.api();
  const pushed = await pushArchive(api, file);
  const json =
    signatures.length === 0 ? pushed : { ...pushed, ...(await addSignatures(api, pushed.sha256, signatures)) };
  return { json, text: formatPushed(json, file) };
}

/** Uploads an archive. */
export async function pushArchive(api: Api, file: string): Promise<PushedBundle> {
  const sha256 = await sha256Of(file);
  const upload = () => openUpload(file);
  return api.call<PushedBundle>({ method: 'PUT', path: '/v1/bundles', query: { sha256 }, upload });
}

function formatPushed(bundle: PushedBundle, file: string): string {
  const { sha256, env, name, version, sequence, size_bytes, warnings } = bundle;
  return formatFacts([
    ['bundle', `${name} ${version}, sequence ${sequence}, for environment ${env}`],
    ['sha256', sha256],
    ['bytes', String(size_bytes)],
    ...signatureFacts(bundle),
    ...warningFacts(warnings),
    ...signatureStepFacts(bundle, { file }),
  ]);
}

/** `deployctl signature add|list`. */
export function addSignature(program: Command, run: Run): void {
  const signature = program
    .command('signature')
    .helpCommand(false)
    .description('Upload and list signatures of bundles');
  signature
    .command('add')
    .description('Upload signatures of a pushed bundle; signatures that the service already has are kept')
    .argument('<sha>', 'digest of the bundle, or its first characters')
    .argument('<files...>', 'signature files made by `deployctl bundle sign`')
    .action(run(add));
  signature
    .command('list')
    .description('List the signatures of a bundle, oldest first')
    .argument('<sha>', 'digest of the bundle, or its first characters')
    .action(run(list));
}

async function add(session: Session, [sha, files]: [string, string[]]): Promise<Result> {
  const signatures = files.map(readSignature);
  const api = await session.api();
  const json = await addSignatures(api, await wholeSha(api, sha), signatures);
  const { env, name, version, sequence } = json;
  const facts = formatFacts([
    ['bundle', `${name} ${version}, sequence ${sequence}, for environment ${env}`],
    ['sha256', json.sha256],
    ...signatureFacts(json),
  ]);
  return { json, text: facts };
}

async function list(session: Session, [sha]: [string]): Promise<Result> {
  const api = await session.api();
  const sha256 = await wholeSha(api, sha);
  const call = { method: 'GET', path: path`/v1/bundles/${sha256}/signatures` } as const;
  const json = await api.call<{ signatures: ReceivedSignature[] }>(call);
  const rows = json.signatures.map(({ signer, received_at, received_from, ...own }) => [
    shortSha(own.sha256),
    signer ?? '-',
    formatAge(received_at, session.nowMs),
    received_from,
  ]);
  return { json, text: formatTable(['SHA256', 'SIGNER', 'AGE', 'FROM'], rows, session.width) };
}
