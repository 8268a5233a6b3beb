import type { Command } from 'commander';
import { addSignatures } from '../api/addSignatures.ts';
import type { PushedBundle } from '../api/types.ts';
import { openUpload, sha256Of } from '../input/openUpload.ts';
import { collectOption } from '../input/options.ts';
import { readSignature } from '../input/readSignature.ts';
import { signatureFacts, signatureStepFacts } from '../output/signatures.ts';
import { formatFacts, warningFacts } from '../output/table.ts';
import type { Result, Run, Session } from '../session.ts';

/** `deployctl push`. */
export function addPush(program: Command, run: Run): void {
  program
    .command('push')
    .description(
      'give a bundle to the service, which refuses what no host could permit; the same one again does no harm',
    )
    .argument('<bundle>', 'an archive, as `deployctl bundle pack` makes it')
    .option('--signature <file>', 'add this signature to it (may be given several times)', collectOption)
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
    ['bundle', `${name} ${version}, sequence ${sequence}, for env ${env}`],
    ['sha256', sha256],
    ['bytes', String(size_bytes)],
    ...signatureFacts(bundle),
    ...warningFacts(warnings),
    ...signatureStepFacts(bundle, file),
  ]);
}
