import { type FileHandle, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Readable } from 'node:stream';
import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { type Api, path, readPages, wholeSha } from '../core/client.ts';
import { CtlError, exits } from '../core/ctlError.ts';
import { createNewFile, fileUnwritable, sha256Of } from '../core/files.ts';
import { countOption } from '../core/input.ts';
import { formatAge, formatFacts, formatTable, formatTime, shorten, shortSha, signatureFacts } from '../core/table.ts';
import type { Bundle, BundleDetails } from '../core/types.ts';

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
  const json = await readPages<'bundles', Bundle>(await session.api(), call);
  const rows = json.bundles.map((bundle) => [
    shortSha(bundle.sha256),
    bundle.env,
    bundle.name,
    bundle.version,
    String(bundle.sequence),
    String(bundle.size_bytes),
    bundle.signature ?? '-',
    formatAge(bundle.received_at, session.nowMs),
    bundle.received_from,
  ]);
  const head = ['SHA256', 'ENV', 'NAME', 'VERSION', 'SEQUENCE', 'BYTES', 'SIGNATURE', 'AGE', 'FROM'];
  return { json, text: formatTable(head, rows, session.width) };
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
