import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { abortedBySignal, dropPrivileges, hardenProcess, NotAllowed } from '../core/process.ts';
import { ignoreStreamErrors } from '../core/streams.ts';
import {
  exitCodes,
  parseArguments,
  type ToldError,
  version,
  withConfigOption,
  withExitCode,
} from '../core/commandLine.ts';
import { ConfigInvalid } from '../core/config/keyTable.ts';
import { admin, discardSecrets, init, migrate, rewrap, rotateKeys, showAuthority, showKeys } from './commands/store.ts';
import { backup, restore } from './commands/backup.ts';
import { CommandError } from './commands/storeAccess.ts';
import { doctor } from './doctor/doctor.ts';
import { secretstore } from './commands/secretstore.ts';
import { serve } from './commands/serve.ts';
import { callingUser, setup } from './commands/setup.ts';
import { loadSettings, readPublicKeys } from './config/loadSettings.ts';
import type { TenancySettings } from './config/configKeys.ts';
import { KeyError } from './keys/keyRing.ts';
import { TlsFilesError } from './server/startServer.ts';
import { allowSlowConnections } from '../core/connector.ts';

const PROGRAM = 'deployd-tenancy';
const exits = exitCodes.deploydTenancy;
const DEFAULT_CONFIG = '/etc/deployd-tenancy/config.yaml';

/** The command line, from which the help, manual page and completions are generated. */
export const program = new Command(PROGRAM)
  .description(
    'The service of a deployd fleet: stores environments, bundles and reports, and issues the credentials of hosts.',
  )
  .version(version, '--version', 'print the version')
  .helpOption('--help', 'show this help')
  .helpCommand(false)
  .exitOverride()
  .configureOutput({ writeOut: (text) => void ignoreStreamErrors(process.stdout).write(text) })
  .addHelpText('after', helpFooter());

withConfig(program.command('init'))
  .description('Create the store, the key file and the first signing key, and print an administrator’s token, once')
  .action((_options: unknown, command: Command) => runAsOwner(command, (settings) => init(settings, console), true));

withConfig(program.command('setup'))
  .description(
    'Set the service up for a URL and start it: configuration, certificate, store, environment `main`, and a login for the user who calls sudo; run again, it keeps what exists',
  )
  .argument('<url>', 'address of the service, such as https://tenancy.example')
  .option('--secretstore-port <port>', 'port of the embedded secretstore (default: 8200)', portOption)
  .option('--state-dir <dir>', 'existing directory of the store (default: /var/lib/deployd-tenancy)')
  .action((url: string, flags: { secretstorePort?: number; stateDir?: string }, command: Command) =>
    withExitCode(async () => {
      const { secretstorePort = null, stateDir = null } = flags;
      const configPath = configOf(command);
      const user = await callingUser(process.env['SUDO_USER'] ?? 'root');
      const place = { configPath, isOfUnit: configPath === DEFAULT_CONFIG, user };
      return setup({ url, secretstorePort, stateDir: stateDir && resolve(stateDir) }, place, console);
    }, tell),
  );

withConfig(program.command('migrate'))
  .description('Migrate the store to this version; the systemd unit runs this before each start')
  .action((_options: unknown, command: Command) => runAsOwner(command, (settings) => migrate(settings, console)));

withConfig(program.command('admin'))
  .description('Create an administrator, for example after a token was lost, and print the new token once')
  .argument('<name>', 'name of the administrator, as shown in the audit log')
  .action((name: string, _options: unknown, command: Command) =>
    runAsOwner(command, (settings) => admin(settings, name, console)),
  );

withConfig(program.command('serve'))
  .description('Run the service until SIGTERM or SIGINT, then finish open requests; the systemd unit starts it')
  .action((_options: unknown, command: Command) =>
    runAsOwner(command, (settings) => {
      ignoreStreamErrors(process.stdout);
      return serve(settings, { signal: abortedBySignal(), write: (line) => process.stdout.write(line) });
    }),
  );

const keys = program
  .command('keys')
  .description('Manage the keys that sign the credentials of hosts')
  .helpCommand(false);
withConfig(keys.command('rotate'))
  .description('Add a signing key, publish it for 10 minutes before using it, and delete expired keys')
  .option('--now', 'use the new key at once, because the old one is compromised')
  .action((options: { now?: boolean }, command: Command) =>
    runAsOwner(command, (settings) => rotateKeys(settings, { now: options.now ?? false }, console)),
  );

withConfig(keys.command('rewrap'))
  .description(
    'Replace the key file, and encrypt with the new one all that the old one encrypts; stop every instance first',
  )
  .action((_options: unknown, command: Command) => runAsOwner(command, (settings) => rewrap(settings, console)));

withConfig(keys.command('show'))
  .description('Print the public keys (PEM) for a secretstore that cannot fetch them from the service')
  .action((_options: unknown, command: Command) => runAsOwner(command, (settings) => showKeys(settings, console)));

withConfig(program.command('authority'))
  .description('Print the service’s own certificate authority (PEM); needs tls.own_authority')
  .action((_options: unknown, command: Command) => runAsOwner(command, (settings) => showAuthority(settings, console)));

const store = program
  .command('secretstore')
  .description('Set up OpenBao or Vault for the hosts and the service, or manage the embedded secretstore')
  .helpCommand(false);
for (const [action, description] of [
  ['plan', 'Show what would change, and change nothing'],
  ['apply', 'Make the changes that `plan` shows; delete nothing'],
] as const)
  withSecretstoreOptions(withConfig(store.command(action)))
    .description(description)
    .action((flags: SecretstoreFlags, command: Command) =>
      // Keep the invoking user, who can read the token. The command does not use the service's files.
      withExitCode(
        async () => secretstore(loadSettings(configOf(command)), { action, ...secretstoreOptions(flags) }, console),
        tell,
      ),
    );

withConfig(store.command('discard'))
  .description(
    'Remove the secrets of an environment from the embedded secretstore, for example after the key file was lost',
  )
  .argument('<env>', 'name of the environment')
  .action((env: string, _options: unknown, command: Command) =>
    runAsOwner(command, (settings) => discardSecrets(settings, env, console)),
  );

withSecretstoreOptions(withConfig(program.command('doctor')))
  .description('Check configuration, files, store, keys and connections, and suggest a fix for each problem')
  .option('--json', 'print JSON')
  .action((flags: SecretstoreFlags & { json?: boolean }, command: Command) =>
    withExitCode(async () => {
      const options = { configPath: configOf(command), json: flags.json ?? false, ...secretstoreOptions(flags) };
      return doctor(options, console);
    }, tell),
  );

withConfig(program.command('backup'))
  .description('Copy the embedded store, even while the service runs, and list the other files to back up')
  .argument('<file>', 'file to create')
  .action((file: string, _options: unknown, command: Command) =>
    runAsOwner(command, (settings) => backup(settings, file, console)),
  );

withConfig(program.command('restore'))
  .description(
    'Replace the embedded store with a backup, and revoke grants, sessions and operators’ tokens; print a new administrator’s token, once',
  )
  .argument('[file]', 'backup file; without it, only revoke and print, after you have restored the database yourself')
  .action((file: string | undefined, _options: unknown, command: Command) =>
    runAsOwner(command, (settings) => restore(settings, file, console)),
  );

withConfig(program);

if (import.meta.main) {
  hardenProcess();
  allowSlowConnections();
  ignoreStreamErrors(process.stderr);
  void parseArguments(program);
}

/** Loads the configuration, switches to the owner of the state directory and runs a command. */
async function runAsOwner(
  command: Command,
  run: (settings: TenancySettings) => Promise<number>,
  makesStateDir = false,
): Promise<void> {
  await withExitCode(async () => {
    const settings = loadSettings(configOf(command));
    if (makesStateDir) mkdirSync(settings.state_dir, { recursive: true, mode: 0o700 });
    dropPrivileges(settings.state_dir, { program: PROGRAM });
    return run(settings);
  }, tell);
}

interface SecretstoreFlags {
  tokenFile?: string;
  jwksCa?: string;
  publicKeys?: string;
}

function withSecretstoreOptions(command: Command): Command {
  return command
    .option(
      '--token-file <file>',
      'file with an administrator’s token of OpenBao or Vault (default: BAO_TOKEN or VAULT_TOKEN)',
    )
    .option('--jwks-ca <file>', 'PEM file by which the secretstore trusts the certificate of this service')
    .option(
      '--public-keys <file>',
      'file with the output of `keys show`, for a secretstore that cannot fetch the keys',
    );
}

function secretstoreOptions({ tokenFile, jwksCa, publicKeys }: SecretstoreFlags) {
  const keys = publicKeys === undefined ? null : readPublicKeys(publicKeys);
  return {
    tokenFile: tokenFile ?? null,
    jwksCaFile: jwksCa ?? null,
    publicKeys: keys,
    environment: process.env,
  };
}

function portOption(text: string): number {
  if (!/^[1-9]\d{0,4}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a whole number from 1 to 65535.');
  return Number(text);
}

function configOf(command: Command): string {
  return command.optsWithGlobals<{ config?: string }>().config ?? DEFAULT_CONFIG;
}

/** Describes an error for the operator; returns null for a bug of the program. */
function tell(error: unknown): ToldError | null {
  if (error instanceof ConfigInvalid) return { lines: error.lines, exit: exits.misconfigured };
  if (error instanceof NotAllowed) return { lines: [error.message], exit: exits.misconfigured };
  const isTold = [CommandError, KeyError, TlsFilesError].some((told) => error instanceof told);
  return error instanceof Error && (isTold || 'syscall' in error)
    ? { lines: [error.message], exit: exits.failed }
    : null;
}

function withConfig(command: Command): Command {
  return withConfigOption(command, DEFAULT_CONFIG);
}

function helpFooter(): string {
  return `
Exit codes:
  0   done
  1   failed
  78  wrong configuration or user

Examples:
  sudo deployd-tenancy setup https://tenancy.example
                                                 set the service up, start it
  sudo deployd-tenancy secretstore plan --token-file FILE
                                                 show the missing setup
  sudo deployd-tenancy doctor                    check the service for problems
  sudo deployd-tenancy backup /srv/backup/store  back up the embedded store`;
}
