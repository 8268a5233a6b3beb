import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { requireDestination, type Result, type RevealOptions, type Run, type Session } from '../config/session.ts';
import { path } from '../core/client.ts';
import { makePrivateDirectory, writePrivateFile } from '../core/files.ts';
import { formatFacts, formatTime } from '../core/table.ts';
import type { InstallKit, Retiring } from '../core/types.ts';

/** `deployctl kit`. */
export function addKit(program: Command, run: Run): void {
  program
    .command('kit')
    .description('Create new credentials for a host and print its install command; earlier credentials become invalid')
    .argument('<id>', 'id of the backend')
    .option('--output <directory>', 'write the credentials to files in this directory, and print only the command')
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

/** Values that the installer takes from files, by their names in the kit's command. */
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
    ['backend', `${kit.id}, environment ${kit.env}, site ${kit.site}, transport ${kit.transport}`],
    ['grant', `expires at ${formatTime(kit.expires_at, nowMs)}`],
    ['installer', kit.base_url && `${kit.base_url}/${kit.version}/install.sh`],
    ['on the host', kit.command],
  ]);
}

interface RetireOptions {
  confirm?: boolean;
  force?: boolean;
  purgeVolumes?: boolean;
  swarm?: boolean;
}

/** `deployctl retire`. */
export function addRetire(program: Command, run: Run): void {
  program
    .command('retire')
    .description('Stop the services of a host, then revoke its credentials')
    .argument('<id>', 'id of the backend')
    .option('--confirm', 'required, because a retirement cannot be undone')
    .option('--force', 'retire the host even if it is offline; if it is retiring already, stop waiting for it')
    .option('--swarm', 'retire all managers of the swarm of this host, and remove the stack')
    .option('--purge-volumes', 'remove volumes too, except on production hosts')
    .action(run(retire));
}

async function retire(
  session: Session,
  [id]: [string],
  { confirm = false, force = false, purgeVolumes = false, swarm = false }: RetireOptions,
): Promise<Result> {
  const api = await session.api();
  // A service of an older version knows no swarm.
  const body = { confirm, force, purge_volumes: purgeVolumes, ...(swarm && { swarm }) };
  const call = { method: 'POST', path: path`/v1/backends/${id}/retire`, json: body } as const;
  const json = await api.call<Retiring>(call);
  const backends = [json, ...(json.others ?? [])];
  return { json, text: backends.map(({ id, state }) => `backend ${id} is ${state}`).join('\n') };
}
