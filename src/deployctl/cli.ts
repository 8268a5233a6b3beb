import { Command, CommanderError } from 'commander';
import { version } from '../core/commandLine.ts';
import { addBackend } from './commands/backend.ts';
import { addStatus } from './commands/status.ts';
import { addWait } from './commands/wait.ts';
import { addDeploy } from './commands/deploy.ts';
import { addBundle } from './bundles/bundle.ts';
import { addPush, addSignature } from './bundles/storedBundles.ts';
import { createRun, type Run } from './config/session.ts';
import { type Exit, exits, type Io } from './core/ctlError.ts';
import { addEnv, addPromote, addRestore } from './commands/env.ts';
import { addKit, addReports, addRetire } from './commands/host.ts';
import { addAudit, addLogin, addOperator, addSession, addWhoAmI } from './commands/people.ts';
import { addRollback, addRollout } from './commands/rollout.ts';
import { addSecret } from './commands/secret.ts';
import { addWebhook } from './commands/webhook.ts';
import { allowSlowConnections } from '../core/connector.ts';

/**
 * The command line; help, manual page and completions are generated from it. Some commands have an option `--version`
 * too: for them, the program must not take it.
 */
export function createProgram(run: Run, { hasVersion = true }: { hasVersion?: boolean } = {}): Command {
  const program = new Command('deployctl').description(
    'Manages a deployd fleet: bundles, environments, hosts, secrets and rollouts.',
  );
  if (hasVersion) program.version(version, '--version', 'print the version');
  program
    .helpOption('--help', 'show this help')
    .helpCommand(false)
    .option('--url <url>', 'URL of the tenancy service (DEPLOYCTL_URL)')
    .option(
      '--token-file <file>',
      'file (mode 0600) or pipe with your token; - is standard input (DEPLOYCTL_TOKEN_FILE)',
    )
    .option('--ca-file <file>', 'PEM file of the certificate authority to trust (DEPLOYCTL_CA_FILE)')
    .option('--config <file>', 'configuration file (default: ~/.config/deployctl/config.yaml)')
    .option('--json', 'print JSON')
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 20 })
    .addHelpText('after', helpFooter)
    .exitOverride();
  for (const add of commands) add(program, run);
  return program;
}

/** Runs a command line, without the names of runtime and program; returns the exit code. */
export async function runCli(args: string[], io: Io): Promise<Exit> {
  let exit: Exit = exits.done;
  // A reader that stops early, such as `head`, is not an error.
  for (const stream of [io.stdout, io.stderr]) stream.on('error', () => undefined);
  const run = createRun(io, (code) => (exit = code));
  const before = args.slice(0, Math.max(0, args.indexOf('--version')));
  const hasVersion = before.length === 0 || !createProgram(run).commands.some((each) => before.includes(each.name()));
  const program = createProgram(run, { hasVersion });
  configureOutput(program, io);
  try {
    await program.parseAsync(args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    exit = error.exitCode === 0 ? exits.done : exits.usage;
  }
  return exit;
}

const commands = [
  addLogin,
  addWhoAmI,
  addEnv,
  addBackend,
  addKit,
  addRetire,
  addBundle,
  addPush,
  addSignature,
  addPromote,
  addDeploy,
  addRollout,
  addRollback,
  addWait,
  addStatus,
  addSecret,
  addReports,
  addWebhook,
  addOperator,
  addSession,
  addAudit,
  addRestore,
];

const helpFooter = `
Terms:
  bundle       compose files and a manifest.json, packed as one archive
  environment  hosts that run the same bundle
  host         a machine with an agent; to the API it is a backend
  rollout      deployment to the hosts of an environment, one wave after another

Exit codes:
  0   done
  1   refused or failed
  2   wrong usage
  3   the desired bundle is not the named one, or a later pipeline has promoted
  75  try again later
  77  not permitted

Examples:
  deployctl login https://tenancy.example <token  log in, save URL and token
  deployctl bundle pack shop --next               create a bundle archive
  deployctl push shop.tar.gz                      upload the bundle
  deployctl promote eu-1 3f2a91bc                 deploy it to all hosts of eu-1
  deployctl wait eu-1 --timeout 600               wait until all hosts run it
  deployctl rollout start eu-1 3f2a91bc --wave 1  deploy it to one host first
  deployctl secret set eu-1 db --field password   set a secret from stdin`;

/** Subcommands have their own settings. */
function configureOutput(command: Command, io: Io): void {
  command.configureOutput({
    writeOut: (text) => io.stdout.write(text),
    writeErr: (text) => io.stderr.write(text),
    getOutHelpWidth: () => io.stdout.columns ?? 80,
    getErrHelpWidth: () => 80,
  });
  for (const inner of command.commands) configureOutput(inner, io);
}

if (import.meta.main) {
  allowSlowConnections();
  void runCli(process.argv.slice(2), process).then((exit) => (process.exitCode = exit));
}
