import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { contextOf, readToken, targetOf } from '../config/connection.ts';
import type { Result, Run, Session } from '../config/session.ts';
import type { CtlSettings } from '../config/configKeys.ts';
import { configDirectory, readSettings } from '../config/configFiles.ts';
import { type Connection, createApi } from '../core/client.ts';
import { writePrivateFile } from '../core/files.ts';
import { formatFacts } from '../core/table.ts';
import type { WhoAmI } from '../core/types.ts';

/** `deployctl login`. */
export function addLogin(program: Command, run: Run): void {
  program
    .command('login')
    .description('Log in and save URL and token for later commands')
    .argument('[url]', 'URL of the tenancy service')
    .addHelpText('after', help)
    .action(run(login));
}

const help = `
Reads the token from standard input, or on a terminal from a prompt without
echo, and saves it next to config.yaml. With --token-file FILE, it saves the
path of the file instead.`;

async function login(session: Session, [url]: [string | undefined]): Promise<Result> {
  const { io, options } = session;
  const target = targetOf({ ...options, ...(url !== undefined && { url }) }, io.env);
  const dir = configDirectory(io.env);
  const { tokenFile: option = '-' } = options;
  const token = await readToken(option, io);
  const given = isKept(option) ? resolve(option) : null;
  const json = await whoIs(session, { url: target.url, token, context: contextOf(target.caFile), env: io.env });
  const tokenFile = given ?? join(dir, 'token');
  if (given === null) await writePrivateFile(tokenFile, `${token}\n`);
  const config = options.config ?? join(dir, 'config.yaml');
  const { sigstore } = readSettings(options.config, io.env);
  const settings = { url: target.url.href, token_file: tokenFile, ca_file: target.caFile, sigstore };
  await writePrivateFile(config, formatConfig(settings));
  return { json, text: `${formatWhoAmI(json)}\nkept in ${config}` };
}

/** Whether later commands can read the token from this path again. */
function isKept(tokenFile: string): boolean {
  return (
    tokenFile !== '-' &&
    statSync(tokenFile, { throwIfNoEntry: false })?.isFile() === true &&
    !/^\/(dev|proc)\//.test(resolve(tokenFile))
  );
}

async function whoIs({ clock }: Session, connection: Connection): Promise<WhoAmI> {
  const api = createApi(connection, clock);
  try {
    return await api.call<WhoAmI>({ method: 'GET', path: '/v1/whoami' });
  } finally {
    api.close();
  }
}

/** JSON is YAML. */
function formatConfig({ sigstore, ...settings }: CtlSettings): string {
  const named = withoutNulls(sigstore);
  const known = withoutNulls({ ...settings, sigstore: Object.keys(named).length > 0 ? named : null });
  return Object.entries(known)
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`)
    .join('');
}

function withoutNulls(settings: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== null));
}

/** `deployctl whoami`. */
export function addWhoAmI(program: Command, run: Run): void {
  program.command('whoami').description('Show the owner and permissions of the current token').action(run(whoAmI));
}

async function whoAmI(session: Session): Promise<Result> {
  const api = await session.api();
  const json = await api.call<WhoAmI>({ method: 'GET', path: '/v1/whoami' });
  return { json, text: formatWhoAmI(json) };
}

/** Formats an operator's name, role and environments. */
export function formatWhoAmI({ name, role, envs }: WhoAmI): string {
  return formatFacts([
    ['name', name],
    ['role', role],
    ['envs', formatEnvs(envs)],
  ]);
}

/** Formats the environments to which a token is limited. */
export function formatEnvs(envs: string[] | null): string {
  return envs === null ? 'all' : envs.join(', ');
}
