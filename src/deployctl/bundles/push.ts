import { openUpload, readSignature, sha256Of } from '../core/files.ts';
import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { addSignatures, path, wholeSha } from '../core/client.ts';
import { collectOption } from '../core/input.ts';
import {
  formatAge,
  formatFacts,
  formatTable,
  shortSha,
  signatureFacts,
  signatureStepFacts,
  warningFacts,
} from '../core/table.ts';
import type { PushedBundle, ReceivedSignature } from '../core/types.ts';

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
  const sha256 = await sha256Of(file);
  const api = await session.api();
  const upload = () => openUpload(file);
  const pushed = await api.call<PushedBundle>({ method: 'PUT', path: '/v1/bundles', query: { sha256 }, upload });
  const json = signatures.length === 0 ? pushed : { ...pushed, ...(await addSignatures(api, sha256, signatures)) };
  return { json, text: formatPushed(json, file) };
}

function formatPushed(bundle: PushedBundle, file: string): string {
  const { sha256, env, name, version, sequence, size_bytes, warnings } = bundle;
  return formatFacts([
    ['bundle', `${name} ${version}, sequence ${sequence}, for environment ${env}`],
    ['sha256', sha256],
    ['bytes', String(size_bytes)],
    ...signatureFacts(bundle),
    ...warningFacts(warnings),
    ...signatureStepFacts(bundle, file),
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
