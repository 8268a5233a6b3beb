import { existsSync } from 'node:fs';
import { Argument, Command, CommanderError, Option } from 'commander';
import { otherEndings } from '../../machines/endings.ts';
import { atStop } from './adapters/host/signals.ts';
import { harden } from './adapters/host/hardening.ts';
import { becomeOwner, NotAllowed } from './adapters/host/owner.ts';
import { formOf, machineForms, machineNames, machineText } from './commands/machine.ts';
import { runLoop, runOnce } from './commands/run.ts';
import { ConfigInvalid } from './config/invalid.ts';
import { loadSettings } from './config/load.ts';
import type { Settings } from './config/settings.ts';
import { installCrashHandlers } from './journal/crash.ts';
import { outlive } from './journal/sink.ts';
import { Vault } from './secrets/vault.ts';
import { version } from '../version.ts';

const DEFAULT_CONFIG = '/etc/deployd/config.yaml';

const vault = new Vault();

/** The command line; its help, its manual page and its completions all come from here. */
export const program = new Command('deployd')
  .description('Converges this host to the bundle that its tenancy service announces.')
  .version(version, '--version', 'print the version')
  .helpOption('--help', 'show this help')
  .helpCommand(false)
  .exitOverride()
  .configureOutput({ writeOut: tell })
  .addHelpText('after', helpFooter());

withConfig(program.command('run'))
  .description('tick in a loop until SIGTERM; with --once a single tick')
  .option('--once', 'one tick, then exit')
  .option('--prune', 'with --once: afterwards keep only the release in force, and prune images after an apply')
  .action(async (options: { once?: boolean; prune?: boolean }, command: Command) => {
    if (options.prune && !options.once) command.error('error: --prune goes with --once');
    const start = { intent: 'tick', prune: options.prune ?? false } as const;
    await act(command, (settings) =>
      options.once ? runOnce(settings, vault, start) : runLoop(settings, vault, start),
    );
    // a reader who takes nothing would keep the process alive, and the timer from its next tick
    if (process.stderr.writableLength > 0) process.exit();
  });

withConfig(program.command('status'))
  .description('what is applied and whether it is what is wanted; exit 0 when token and host are in sync')
  .option('--json', 'the same as JSON')
  .action(async (options: { json?: boolean }, command: Command) => {
    const { status } = await import('./commands/status.ts');
    await act(command, (settings) => status(settings, { json: options.json ?? false, version }, console));
  });

withConfig(program.command('plan'))
  .description('what an apply of BUNDLE would do and what refuses it; changes nothing; exit 0 when nothing is refused')
  .argument('<bundle>', 'a bundle, or a directory with its files; without configuration it is judged by itself')
  .option('--json', 'the same as JSON')
  .action(async (bundle: string, options: { json?: boolean }, command: Command) => {
    const { config } = command.optsWithGlobals<{ config?: string }>();
    const { plan } = await import('./commands/plan.ts');
    await guarded(async () => {
      const isAlone = config === undefined && !existsSync(DEFAULT_CONFIG);
      const settings = isAlone ? null : loadSettings(config ?? DEFAULT_CONFIG);
      return plan(settings, { bundle, json: options.json ?? false, signal: abortedBySignal() }, console);
    });
  });

withConfig(program.command('bootstrap'))
  .description('exchange the bootstrap grant for a secretstore token now')
  .action(async (_options: unknown, command: Command) => {
    await act(command, (settings) => runOnce(settings, vault, { intent: 'bootstrap', prune: false }));
  });

withConfig(program.command('doctor'))
  .description('checks what usually goes wrong on a host, and tells what to do about it; exit 0 when all is well')
  .option('--json', 'the same as JSON')
  .action(async (options: { json?: boolean }, command: Command) => {
    const { config: configPath = DEFAULT_CONFIG } = command.optsWithGlobals<{ config?: string }>();
    const how = { configPath, json: options.json ?? false, version, vault, signal: abortedBySignal() };
    const { doctor } = await import('./commands/doctor.ts');
    await guarded(() => doctor(how, console));
  });

withConfig(program.command('trace'))
  .description('why a tick did what it did, and what took long; exit 0 when it left a trace')
  .argument('[tick]', 'id of the tick, or how it begins (default: the newest that was not quiet)')
  .option('--list', 'one line for each trace that is kept, newest first')
  .option('--json', 'the same as JSON')
  .action(async (tick: string | undefined, options: { list?: boolean; json?: boolean }, command: Command) => {
    const { trace } = await import('./commands/trace.ts');
    const wanted = { tick, list: options.list ?? false, json: options.json ?? false };
    await act(command, (settings) => trace(settings, wanted, console));
  });

const machine = program
  .command('machine')
  .description('how the agent decides: a state machine as text or as a picture; needs no configuration')
  .addArgument(new Argument('[name]', 'which machine').choices(machineNames).default('tick'))
  .action((name: (typeof machineNames)[number], options: Parameters<typeof formOf>[0]) => {
    tell(machineText(name, formOf(options)));
  });
for (const [form, meaning] of Object.entries(machineForms)) {
  const others = Object.keys(machineForms).filter((other) => other !== form);
  machine.addOption(new Option(`--${form}`, meaning).conflicts(others));
}

withConfig(program);

if (import.meta.main) {
  harden();
  outlive(process.stderr);
  installCrashHandlers(process.stderr, () => vault.redactor());
  void parse();
}

/** What is not told by the line; `console` outlives its readers by itself. */
function tell(text: string): void {
  outlive(process.stdout).write(text);
}

/** Reads the configuration, becomes the state directory's owner, and works. */
async function act(command: Command, work: (settings: Settings) => Promise<number>): Promise<void> {
  const { config } = command.optsWithGlobals<{ config?: string }>();
  await guarded(async () => {
    const settings = loadSettings(config ?? DEFAULT_CONFIG);
    becomeOwner(settings.state_dir);
    return work(settings);
  });
}

/** Works and sets the exit code; a wrong configuration, or the wrong user, has its own. */
async function guarded(work: () => Promise<number>): Promise<void> {
  try {
    process.exitCode = await work();
  } catch (error) {
    if (!(error instanceof ConfigInvalid) && !(error instanceof NotAllowed)) throw error;
    for (const line of error instanceof ConfigInvalid ? error.lines : [error.message]) console.error(line);
    process.exitCode = otherEndings.configInvalid.meta.exit;
  }
}

/** For a command that has something to tidy up before it ends. */
function abortedBySignal(): AbortSignal {
  const stop = new AbortController();
  atStop(() => stop.abort());
  return stop.signal;
}

async function parse(): Promise<void> {
  try {
    await program.parseAsync();
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode;
  }
}

function withConfig(command: Command): Command {
  return command.option('--config <file>', `configuration file (default: ${DEFAULT_CONFIG})`);
}

function helpFooter(): string {
  return `
Exit codes: 0 done or converged, 1 refused or failed, 75 try again later, 78 wrong configuration or env.
Examples:
  deployd status                   is this host in sync?
  sudo deployd run --once          one tick now
  sudo deployd bootstrap           after a new grant was put in place
  sudo deployd doctor              what is wrong with this host?
  deployd trace                    why did the agent do that?
  deployd plan shop.tar.gz         what would this bundle do?`;
}
