import type { Command } from 'commander';
import { addSignatures } from '../api/addSignatures.ts';
import { path } from '../api/path.ts';
import type { ReceivedSignature } from '../api/types.ts';
import { wholeSha } from '../api/wholeSha.ts';
import { readSignature } from '../input/readSignature.ts';
import { shortSha } from '../output/sha.ts';
import { signatureFacts } from '../output/signatures.ts';
import { formatFacts, formatTable } from '../output/table.ts';
import { formatAge } from '../output/times.ts';
import type { Result, Run, Session } from '../session.ts';

/** `deployctl signature add|list`. */
export function addSignature(program: Command, run: Run): void {
  const signature = program
    .command('signature')
    .helpCommand(false)
    .description('the signatures of bundles, which the service keeps for the hosts and never makes');
  signature
    .command('add')
    .description('add signatures to a bundle that was pushed; the same one again does no harm')
    .argument('<sha>', 'digest of the bundle, or how it begins')
    .argument('<files...>', 'Sigstore bundles, as `deployctl bundle sign` writes them')
    .action(run(add));
  signature
    .command('list')
    .description('who has signed a bundle, the oldest signature first')
    .argument('<sha>', 'digest of the bundle, or how it begins')
    .action(run(list));
}

async function add(session: Session, [sha, files]: [string, string[]]): Promise<Result> {
  const signatures = files.map(readSignature);
  const api = await session.api();
  const json = await addSignatures(api, await wholeSha(api, sha), signatures);
  const { env, name, version, sequence } = json;
  const facts = formatFacts([
    ['bundle', `${name} ${version}, sequence ${sequence}, for env ${env}`],
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
