import type { Command } from 'commander';
import type { PushedBundle } from '../api/types.ts';
import { openUpload, sha256Of } from '../input/openUpload.ts';
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
    .action(run(push));
}

async function push(session: Session, [file]: [string]): Promise<Result> {
  const sha256 = await sha256Of(file);
  const api = await session.api();
  const upload = () => openUpload(file);
  const json = await api.call<PushedBundle>({ method: 'PUT', path: '/v1/bundles', query: { sha256 }, upload });
  return { json, text: formatPushed(json) };
}

function formatPushed({ sha256, env, name, version, sequence, size_bytes, warnings }: PushedBundle): string {
  return formatFacts([
    ['bundle', `${name} ${version}, sequence ${sequence}, for env ${env}`],
    ['sha256', sha256],
    ['bytes', String(size_bytes)],
    ...warningFacts(warnings),
  ]);
}
