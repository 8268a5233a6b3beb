import { existsSync } from 'node:fs';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { monotonicMs } from '../platform/clock.ts';
import { abortedBySignal } from '../platform/host/stopSignals.ts';
import { homeDirectory, loginName } from '../platform/host/loginName.ts';
import { hardenProcess } from '../platform/host/hardening.ts';
import { formatOf, machineFormats, machineNames, formatMachine } from './commands/machine.ts';
import { runLoop, runOnce } from './commands/run.ts';
import { becomeUserOf, forEachEnv, runAsOwner, withExitCode, withSettings } from './commands/commandSettings.ts';
import { parseArguments, withConfigOption } from '../commandLine.ts';
import { loadSettings } from './config/loadSettings.ts';
import { configOf, envPattern, plainConfig } from './config/namedEnvs.ts';
import { userConfigIn } from './config/userConfig.ts';
import { installCrashHandlers } from './journal/crashHandlers.ts';
import { ignoreStreamErrors } from '../platform/host/streamErrors.ts';
import { Vault } from './secrets/vault.ts';
import { version } from '../version.ts';

const vault = new Vault();

/** The command line; help, manual page and completions are generated from it. */
export const program = new Command('deployd')
  .description('Converges this host to the bundle that its tenancy service announces.')
  .version(version, '--version', 'print the version')
  .helpOption('--help', 'show this help')
  .helpCommand(false)
  .exitOverride()
  .configureOutput({ writeOut })
  .addHelpText('after', helpFooter());

withConfig(program.command('run'))
  .description('tick in a loop until SIGTERM; with --once a single tick')
  .option('--once', 'one tick, then exit')
  .option('--prune', 'with --once: afterwards keep only the release in force, and prune images after an apply')
  .action(async (options: { once?: boolean; prune?: boolean }, command: Command) => {
    if (options.prune && !options.once) command.error('error: --prune goes with --once');
    const requested = { intent: 'tick', prune: options.prune ?? false } as const;
    await runAsOwner(chosenConfig(command), (settings) =>
      options.once ? runOnce(settings, vault, requested) : runLoop(settings, vault, requested),
    );
    // a stalled reader of stderr would keep the process alive and delay the timer's next tick
    if (process.stderr.writableLength > 0) process.exit();
  });

withConfig(program.command('status'))
  .description('show what is applied, what runs now and what is desired; exit 0 when the host is in sync')
  .option('--json', 'the same as JSON')
  .action(async (options: { json?: boolean }, command: Command) => {
    const { status } = await import('./commands/status.ts');
    const { json = false } = options;
    await forEachEnv(chosenConfig(command), { json, verdict: 'in_sync' }, (path, out) =>
      withSettings(path, (settings) => status(settings, { json, version, vault, lookMs: timeToLookMs() }, out)),
    );
  });

withConfig(program.command('plan'))
  .description('what an apply of BUNDLE would do and what refuses it; changes nothing; exit 0 when nothing is refused')
  .argument('<bundle>', 'a bundle, or a directory with its files; without configuration it is judged by itself')
  .option('--signatures <file...>', 'signatures of the bundle, to be judged by the trust of this host')
  .option('--json', 'the same as JSON')
  .action(async (bundle: string, options: { signatures?: string[]; json?: boolean }, command: Command) => {
    const path = chosenConfig(command);
    const { plan } = await import('./commands/plan.ts');
    await withExitCode(async () => {
      const isUnconfigured = path === null && !existsSync(plainConfig);
      if (path !== null) becomeUserOf(path);
      const settings = isUnconfigured ? null : loadSettings(path ?? plainConfig);
      const { signatures = [], json = false } = options;
      return plan(settings, { bundle, signatures, json, signal: abortedBySignal() }, console);
    });
  });

withConfig(program.command('hold'))
  .description('nothing is applied, healed or taken down until then; ticks go on to check in and to keep the token')
  .argument('[reason...]', 'why, in a line, for whoever comes next')
  .option('--until <time>', 'like 90m, 12h, 3d, 18:30 or 2026-11-27T08:00; at most 7 days (default: 24h)')
  .addOption(new Option('--show', 'only tell whether a hold stands; exit 0 while one does').conflicts('until'))
  .action(async (reason: string[], options: { until?: string; show?: boolean }, command: Command) => {
    if (options.show && reason.length > 0) command.error('error: --show goes without a reason');
    const { hold, showHold } = await import('./commands/hold.ts');
    const { outputFor } = await import('./commands/outputFor.ts');
    const requested = { until: options.until, reason: reason.join(' '), by: loginName() };
    await runAsOwner(chosenConfig(command), (settings) =>
      options.show ? showHold(settings, console) : hold(settings, requested, outputFor(settings.config_file, console)),
    );
  });

withConfig(program.command('unhold'))
  .description('ends a hold; the next tick does what waits')
  .action(async (_options: unknown, command: Command) => {
    const { unhold } = await import('./commands/hold.ts');
    await runAsOwner(chosenConfig(command), (settings) => unhold(settings, console));
  });

withConfig(program.command('accept-volumes'))
  .description('go on without the data of lost volumes: the next tick creates empty ones')
  .argument('[volume...]', 'volumes that status shows as lost (default: all of them)')
  .action(async (volumes: string[], _options: unknown, command: Command) => {
    const { acceptVolumes } = await import('./commands/acceptVolumes.ts');
    await runAsOwner(chosenConfig(command), (settings) => acceptVolumes(settings, volumes, console));
  });

withConfig(program.command('bootstrap'))
  .description('exchange the bootstrap grant for a secretstore token now')
  .action(async (_options: unknown, command: Command) => {
    await runAsOwner(chosenConfig(command), (settings) =>
      runOnce(settings, vault, { intent: 'bootstrap', prune: false }),
    );
  });

withConfig(program.command('doctor'))
  .description('checks what usually goes wrong on a host, and tells what to do about it; exit 0 when all is well')
  .option('--before-upgrade', 'only what the new defaults of this version would change on this host')
  .option('--json', 'the same as JSON')
  .action(async (options: { beforeUpgrade?: boolean; json?: boolean }, command: Command) => {
    const { doctor } = await import('./commands/doctor.ts');
    const { beforeUpgrade = false, json = false } = options;
    const how = { beforeUpgrade, json, version, vault, signal: abortedBySignal() };
    await forEachEnv(chosenConfig(command), { json, verdict: 'well' }, (configPath, out) =>
      doctor({ ...how, configPath }, out),
    );
  });

withConfig(program.command('trace'))
  .description('why a tick did what it did, and what took long; exit 0 when it left a trace')
  .argument('[tick]', 'id of the tick, or how it begins (default: the newest that was not quiet)')
  .option('--list', 'one line for each trace that is kept, newest first')
  .option('--json', 'the same as JSON')
  .action(async (tick: string | undefined, options: { list?: boolean; json?: boolean }, command: Command) => {
    const { trace } = await import('./commands/trace.ts');
    const { outputFor } = await import('./commands/outputFor.ts');
    const traceOptions = { tick, list: options.list ?? false, json: options.json ?? false };
    await runAsOwner(chosenConfig(command), (settings) =>
      trace(settings, traceOptions, options.json ? console : outputFor(settings.config_file, console)),
    );
  });

withConfig(program.command('history'))
  .description('what happened on this host, newest first: releases, trouble, who signed, how long it took, and holds')
  .addOption(new Option('--limit <n>', 'how many at most').argParser(count).default(100))
  .option('--no-pager', 'print it, also on a terminal')
  .option('--json', 'the same as JSON')
  .action(async (options: { limit: number; pager: boolean; json?: boolean }, command: Command) => {
    const { history } = await import('./commands/history.ts');
    const { openTerminal } = await import('./adapters/host/terminal.ts');
    const { limit, pager, json = false } = options;
    await runAsOwner(chosenConfig(command), (settings) =>
      history(settings, { limit, json }, { terminal: openTerminal(pager), out: console }),
    );
  });

withConfig(program.command('logs'))
  .description('what the containers of this host have printed, without values of its secrets')
  .argument('[service]', 'the containers of this service (default: of all)')
  .addOption(new Option('--tail <n>', 'how many lines of each container at most').argParser(count).default(100))
  .option('--since <time>', 'like 90s, 10m, 2h, 3d or 2026-11-27T08:00')
  .option('--follow', 'go on with what they print, until Ctrl-C')
  .option('--no-pager', 'print it, also on a terminal')
  .option('--json', 'a line of JSON for each')
  .action(async (service: string | undefined, options: LogsCommandOptions, command: Command) => {
    const { logs } = await import('./commands/logs.ts');
    const { openTerminal } = await import('./adapters/host/terminal.ts');
    const { tail, since, follow = false, json = false, pager } = options;
    const logsOptions = { service, tail, since, follow, json, vault, signal: abortedBySignal() };
    await runAsOwner(chosenConfig(command), (settings) =>
      logs(settings, logsOptions, { terminal: openTerminal(pager), out: console }),
    );
  });

/** Status answers within two seconds in all, whatever the engine does; a busy host that starts it slowly gets a second to answer. */
function timeToLookMs(): number {
  return Math.max(1000, Math.round(1700 - monotonicMs()));
}

interface LogsCommandOptions {
  tail: number;
  since?: string;
  follow?: boolean;
  pager: boolean;
  json?: boolean;
}

withConfig(program.command('diff'))
  .description('how the desired bundle differs from what is applied; exit 0 when nothing does')
  .argument(
    '[bundle]',
    'another bundle, or a directory with its files (default: the desired one, which a tick has fetched)',
  )
  .option('--no-pager', 'print it, also on a terminal')
  .option('--json', 'the same as JSON')
  .action(async (bundle: string | undefined, options: { pager: boolean; json?: boolean }, command: Command) => {
    const { diff } = await import('./commands/diff.ts');
    const { outputFor } = await import('./commands/outputFor.ts');
    const { openTerminal } = await import('./adapters/host/terminal.ts');
    const diffOptions = { bundle, json: options.json ?? false, vault, signal: abortedBySignal() };
    await runAsOwner(chosenConfig(command), (settings) =>
      diff(settings, diffOptions, {
        terminal: openTerminal(options.pager),
        out: outputFor(settings.config_file, console),
      }),
    );
  });

const machine = program
  .command('machine')
  .description('how the agent decides: a state machine as text or as a picture; needs no configuration')
  .addArgument(new Argument('[name]', 'which machine').choices(machineNames).default('tick'))
  .action((name: (typeof machineNames)[number], options: Parameters<typeof formatOf>[0]) => {
    writeOut(formatMachine(name, formatOf(options)));
  });
for (const [form, meaning] of Object.entries(machineFormats)) {
  const others = Object.keys(machineFormats).filter((other) => other !== form);
  machine.addOption(new Option(`--${form}`, meaning).conflicts(others));
}

withConfig(program);

if (import.meta.main) {
  hardenProcess();
  ignoreStreamErrors(process.stderr);
  installCrashHandlers(process.stderr, () => vault.redactor());
  void parseArguments(program);
}

function namedEnv(text: string): string {
  if (!envPattern.test(text)) throw new InvalidArgumentError('It must be the id of an env.');
  return text;
}

/** A number of lines or entries. */
function count(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 999999.');
  return Number(text);
}

/** Writes text to stdout; a closed stdout is no error. */
function writeOut(text: string): void {
  ignoreStreamErrors(process.stdout).write(text);
}

/** The configuration that the options name, null without them. */
function chosenConfig(command: Command): string | null {
  const { config, env, user } = command.optsWithGlobals<{ config?: string; env?: string; user?: boolean }>();
  if (config !== undefined && env !== undefined) command.error('error: --env goes without --config');
  if (user && (config ?? env) !== undefined) command.error('error: --user goes without --config and --env');
  if (user)
    return userConfigIn(homeDirectory() ?? command.error('error: --user needs an account with a home directory'));
  return env === undefined ? (config ?? null) : configOf(env);
}

function withConfig(command: Command): Command {
  return withConfigOption(command, plainConfig)
    .addOption(
      new Option('--env <env>', `the env of deployd@<env>.service, by ${configOf('<env>')}`).argParser(namedEnv),
    )
    .option('--user', "the agent of this user, that of the user's deployd.service, by ~/.config/deployd/config.yaml");
}

function helpFooter(): string {
  return `
Exit codes: 0 done or converged, 1 refused or failed, 75 try again later, 78 wrong configuration or env.
Examples:
  deployd status                   is this host in sync?
  sudo deployd run --once          one tick now
  sudo deployd bootstrap           after a new grant was put in place
  sudo deployd doctor              what is wrong with this host?
  deployd history                  what happened on this host?
  deployd trace                    why did the agent do that?
  deployd logs --follow web        what does web print?
  deployd diff                     what would the desired bundle change?
  sudo deployd hold --until 18:30 "disk swap"
                                   leave this host alone until then
  deployd plan shop.tar.gz         what would this bundle do?`;
}
