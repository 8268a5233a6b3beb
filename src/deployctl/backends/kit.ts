import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { requireDestination, type Result, type RevealOptions, type Run, type Session } from '../config/session.ts';
import { path } from '../core/client.ts';
import { makePrivateDirectory, writePrivateFile } from '../core/files.ts';
import { formatFacts, formatTime } from '../core/table.ts';
import type { InstallKit } from '../core/types.ts';

/** `deployctl kit`. */
export function addKit(program: Command, run: Run): void {
  program
    .command('kit')
    .description('Print the command and credentials that install a host; earlier ones become invalid')
    .argument('<id>', 'id of the backend')
    .option('--output <directory>', 'directory for the credential files; print only the command')
    .option('--show', 'print the credentials even to a terminal')
    .action(run(kit));
}

async function kit(session: Session, [id]: [string], options: RevealOptions): Promise<Result> {
  requireDestination(session, options);
  const dir = options.output === undefined ? null : resolve(options.output);
  if (dir !== null) await makePrivateDirectory(dir);
  const api = await session.api();
  const json = await api.call<InstallKit>({ method: 'GET', path: path`/v1/backends/${id}/agent/install` });
  if (dir === null) return { json, text: `${formatKit(json, session.nowMs)}\ngrant:\n${json.bootstrap_jwt}` };
  const files = filesOf(json);
  for (const [name, text] of files) await writePrivateFile(join(dir, name), `${text.trimEnd()}\n`);
  const written = files.map(([name]) => name).join(', ');
  return { json: withoutCredentials(json), text: `${formatKit(json, session.nowMs)}\nwritten to ${dir}: ${written}` };
}

/** What the installer takes from files, by the names that the kit's command has. */
function filesOf(kit: InstallKit): [name: string, text: string][] {
  const files: [string, string | null][] = [
    ['bootstrap.jwt', kit.bootstrap_jwt],
    ['secretstore-ca.pem', kit.secretstore_ca],
    ['mesh-enrolment.jwt', kit.mesh_enrolment_jwt],
    ['download-token', kit.download_token],
  ];
  return files.filter((file): file is [string, string] => file[1] !== null);
}

function withoutCredentials(kit: InstallKit): object {
  return Object.fromEntries(Object.entries(kit).filter(([key]) => !credentials.includes(key)));
}

const credentials = ['bootstrap_jwt', 'mesh_enrolment_jwt', 'download_token'];

function formatKit(kit: InstallKit, nowMs: number): string {
  return formatFacts([
    ['backend', `${kit.id}, env ${kit.env}, site ${kit.site}, transport ${kit.transport}`],
    ['grant', `expires at ${formatTime(kit.expires_at, nowMs)}`],
    ['installer', kit.base_url && `${kit.base_url}/${kit.version}/install.sh`],
    ['on the host', kit.command],
  ]);
}
