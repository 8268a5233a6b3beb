import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { Argument, Command, InvalidArgumentError, Option } from 'commander';
import { apply } from '../../machines/apply.ts';
import { down } from '../../machines/down.ts';
import { type Graph, graphOf } from '../../machines/graph.ts';
import { dotOf, mermaidOf, svgOf, textOf } from '../../machines/graphFormats.ts';
import { loop } from '../../machines/loop.ts';
import { tick } from '../../machines/tick.ts';
import { maxSequence } from '../api/checkIn.rules.ts';
import { monotonicMs } from '../core/clock.ts';
import { abortedBySignal, hardenProcess } from '../core/process.ts';
import { runLoop, runOnce } from './run.ts';
import { becomeUserOf, forEachEnv, runAsOwner, withExitCode, withSettings } from './commandSettings.ts';
import { parseArguments, version, withConfigOption } from '../core/commandLine.ts';
import { loadSettings } from './config/loadSettings.ts';
import { configOf, envPattern, plainConfig, userConfigIn } from './config/namedEnvs.ts';
import { installCrashHandlers } from './journal/journal.ts';
import type { Settings } from './config/configKeys.ts';
import type { State } from './state/state.rules.ts';
import { ignoreStreamErrors } from '../core/streams.ts';
import { Vault } from './secrets/vault.ts';
import { allowSlowConnections } from '../core/connector.ts';

const machines = { tick, apply, down, loop };

const formatters = {
  mermaid: mermaidOf,
  dot: dotOf,
  svg: svgOf,
  json: (graph: Graph) => JSON.stringify(graph, null, 2),
};

type Format = keyof typeof formatters;

/** Names of the machines. */
const machineNames = Object.keys(machines) as (keyof typeof machines)[];

/** Output formats other than plain text, with their help text. */
const machineFormats: Record<Format, string> = {
  mermaid: 'print Mermaid text',
  dot: 'print Graphviz text',
  svg: 'print an SVG picture',
  json: 'print states and transitions as JSON',
};

/** The format whose option is set; null for plain text. */
function formatOf(options: Partial<Record<Format, boolean>>): Format | null {
  return (Object.keys(formatters) as Format[]).find((format) => options[format]) ?? null;
}

/** A machine as text or picture (spec §7), with a final newline; needs no configuration. */
function formatMachine(name: (typeof machineNames)[number], format: Format | null): string {
  const formatter = format === null ? textOf : formatters[format];
  return `${formatter(graphOf(machines[name])).trimEnd()}\n`;
}

const vault = new Vault();

/** The command line, from which the help, manual page and completions are generated. */
export const program = new Command('deployd')
  .description('Deploys the bundle that the tenancy service announces to this host, and keeps it running.')
  .version(version, '--version', 'print the version')
  .helpOption('--help', 'show this help')
  .helpCommand(false)
  .exitOverride()
  .configureOutput({ writeOut })
  .addHelpText('after', helpFooter());

withConfig(program.command('run'))
  .description('Run the agent in a loop until SIGTERM, or once with --once')
  .option('--once', 'run once, then exit')
  .option(
    '--prune',
    'with --once: afterwards remove all releases except the current one; after an apply, also unused images',
  )
  .action(async (options: { once?: boolean; prune?: boolean }, command: Command) => {
    if (options.prune && !options.once) command.error('error: --prune requires --once');
    const requested = { intent: 'tick', prune: options.prune ?? false } as const;
    await runAsOwner(chosenConfig(command), (settings) =>
      options.once ? runOnce(settings, vault, requested) : runLoop(settings, vault, requested),
    );
    // a stalled reader of stderr would keep the process alive and delay the timer's next tick
    if (process.stderr.writableLength > 0) process.exit();
  });

withConfig(program.command('status'))
  .description('Show the applied, running and desired bundle; exit 0 if the host is in sync')
  .option('--json', 'print JSON')
  .action(async (options: { json?: boolean }, command: Command) => {
    const { status } = await import('./status/status.ts');
    const { json = false } = options;
    await forEachEnv(chosenConfig(command), { json, verdict: 'in_sync' }, (path, out) =>
      withSettings(path, (settings) => status(settings, { json, version, vault, lookMs: timeToLookMs() }, out)),
    );
  });

withConfig(program.command('plan'))
  .description('Show what a bundle would change, or why it would be refused; change nothing; exit 0 if it is accepted')
  .argument('<bundle>', 'archive or directory; without a configuration file, only the bundle itself is checked')
  .option('--signatures <file...>', 'signature files to verify against the trusted signers of this host')
  .option('--json', 'print JSON')
  .action(async (bundle: string, options: { signatures?: string[]; json?: boolean }, command: Command) => {
    const path = chosenConfig(command);
    const { plan } = await import('./apply/plan.ts');
    await withExitCode(async () => {
      const isUnconfigured = path === null && !existsSync(plainConfig);
      if (path !== null) becomeUserOf(path);
      const settings = isUnconfigured ? null : loadSettings(path ?? plainConfig);
      const { signatures = [], json = false } = options;
      return plan(settings, { bundle, signatures, json, signal: abortedBySignal() }, console);
    });
  });

withConfig(program.command('hold'))
  .description('Pause deployments on this host; check-ins and token renewal continue')
  .argument('[reason...]', 'reason to show to other operators')
  .option('--until <time>', 'end of the hold: 90m, 12h, 3d, 18:30 or 2026-11-27T08:00; at most 7 days (default: 24h)')
  .addOption(new Option('--show', 'show the current hold; exit 0 if there is one').conflicts('until'))
  .action(async (reason: string[], options: { until?: string; show?: boolean }, command: Command) => {
    if (options.show && reason.length > 0) command.error('error: --show cannot be combined with a reason');
    const { hold, showHold } = await import('./checkIn/hold.ts');
    const { outputFor } = await import('./commandSettings.ts');
    const requested = { until: options.until, reason: reason.join(' '), by: loginName() };
    await runAsOwner(chosenConfig(command), (settings) =>
      options.show ? showHold(settings, console) : hold(settings, requested, outputFor(settings.config_file, console)),
    );
  });

withConfig(program.command('unhold'))
  .description('End a hold; the next tick resumes deployments')
  .action(async (_options: unknown, command: Command) => {
    const { unhold } = await import('./checkIn/hold.ts');
    await runAsOwner(chosenConfig(command), (settings) => unhold(settings, console));
  });

withConfig(program.command('accept-volumes'))
  .description('Accept that volumes are lost: the next tick creates them again, without data')
  .argument('[volume...]', 'volumes that `deployd status` shows as lost (default: all)')
  .action(async (volumes: string[], _options: unknown, command: Command) => {
    const { acceptVolumes } = await import('./release/correctState.ts');
    await runAsOwner(chosenConfig(command), (settings) => acceptVolumes(settings, volumes, console));
  });

const trust = program
  .command('trust')
  .description('Change the trusted signers of this host, or the sequence that it requires');
withConfig(trust.command('store'))
  .description(
    'Store the trusted signers of an install kit beside the configuration, and print the line of config.yaml that names them',
  )
  .argument('<file>', '`trust.json` of the kit')
  .action(async (file: string, _options: unknown, command: Command) => {
    const { storeTrust } = await import('./release/correctState.ts');
    const config = chosenConfig(command) ?? plainConfig;
    await withExitCode(() => {
      becomeUserOf(config);
      return storeTrust(config, file, console);
    });
  });
withConfig(trust.command('reset'))
  .description('Accept bundles with this sequence or a higher one, whatever was applied before')
  .requiredOption('--sequence <n>', 'lowest sequence to accept, from 1 to 2^48', sequenceNumber)
  .option('--if-unknown', 'change nothing if this host knows a sequence; for new hosts')
  .action(async (options: { sequence: number; ifUnknown?: boolean }, command: Command) => {
    const { resetSequence } = await import('./release/correctState.ts');
    await runAsOwner(chosenConfig(command), async (settings) => {
      const share = settings.orchestrator === 'swarm' ? await sharing(settings, options.sequence) : undefined;
      return resetSequence(settings, { ...options, share }, console);
    });
  });

/** Changes the sequence that the managers of the swarm share. */
async function sharing(settings: Settings, sequence: number) {
  const { openSwarm } = await import('./swarm/openSwarm.ts');
  const { resetSharedSequence } = await import('./swarm/sharedState.ts');
  const { facts, swarm } = openSwarm({ settings, project: '', vault, signal: abortedBySignal() });
  const opened = { facts, membership: () => swarm.membership() };
  return (state: Readonly<State>, isKept: (known: number) => boolean) =>
    resetSharedSequence(opened, { sequence, state, isKept });
}

withConfig(program.command('bootstrap'))
  .description('Log in to the secretstore with the bootstrap grant now, and store the token')
  .action(async (_options: unknown, command: Command) => {
    await runAsOwner(chosenConfig(command), (settings) =>
      runOnce(settings, vault, { intent: 'bootstrap', prune: false }),
    );
  });

withConfig(program.command('doctor'))
  .description('Check this host for common problems and suggest fixes; exit 0 if all checks pass')
  .option('--before-upgrade', 'only show what the new defaults of this version would change on this host')
  .addOption(
    new Option('--proxy', 'only check that both services answer through the mesh proxy; exit 0 if they do').conflicts([
      'beforeUpgrade',
      'json',
    ]),
  )
  .option('--json', 'print JSON')
  .action(async (options: { beforeUpgrade?: boolean; proxy?: boolean; json?: boolean }, command: Command) => {
    if (options.proxy) {
      const { checkProxyAnswers } = await import('./transport/transport.ts');
      await withExitCode(() => checkProxyAnswers(console));
      return;
    }
    const { doctor } = await import('./doctor/doctor.ts');
    const { beforeUpgrade = false, json = false } = options;
    const how = { beforeUpgrade, json, version, vault, signal: abortedBySignal() };
    await forEachEnv(chosenConfig(command), { json, verdict: 'well' }, (configPath, out) =>
      doctor({ ...how, configPath }, out),
    );
  });

program
  .command('extend-identity')
  .description('Extend the certificate of a mesh identity before it ends; run it as the owner of the file')
  .argument('<file>', 'identity file, as mesh.identity_file')
  .option('--now', 'extend it now (default: 60 days before its end)')
  .action(async (file: string, options: { now?: boolean }) => {
    const { extendIdentity } = await import('./transport/transport.ts');
    await withExitCode(() => extendIdentity(file, { isForced: options.now ?? false }, console));
  });

withConfig(program.command('trace'))
  .description('Show the steps of a tick with reasons and durations; exit 0 if there is a trace')
  .argument('[tick]', 'id of the tick, or its first characters (default: the latest tick that did something)')
  .option('--list', 'list all traces, newest first')
  .option('--json', 'print JSON')
  .action(async (tick: string | undefined, options: { list?: boolean; json?: boolean }, command: Command) => {
    const { trace } = await import('./status/trace.ts');
    const { outputFor } = await import('./commandSettings.ts');
    const traceOptions = { tick, list: options.list ?? false, json: options.json ?? false };
    await runAsOwner(chosenConfig(command), (settings) =>
      trace(settings, traceOptions, options.json ? console : outputFor(settings.config_file, console)),
    );
  });

withConfig(program.command('history'))
  .description('Show releases, failures and holds of this host, newest first')
  .addOption(new Option('--limit <n>', 'maximum number of entries').argParser(count).default(100))
  .option('--no-pager', 'do not use a pager')
  .option('--json', 'print JSON')
  .action(async (options: { limit: number; pager: boolean; json?: boolean }, command: Command) => {
    const { history } = await import('./status/trace.ts');
    const { openTerminal } = await import('./journal/terminal.ts');
    const { limit, pager, json = false } = options;
    await runAsOwner(chosenConfig(command), (settings) =>
      history(settings, { limit, json }, { terminal: openTerminal(pager), out: console }),
    );
  });

withConfig(program.command('logs'))
  .description('Print container logs, with secret values removed')
  .argument('[service]', 'service name (default: all services)')
  .addOption(new Option('--tail <n>', 'maximum number of lines for each container').argParser(count).default(100))
  .option('--since <time>', 'start time: 90s, 10m, 2h, 3d or 2026-11-27T08:00')
  .option('--follow', 'follow the output until Ctrl-C')
  .option('--no-pager', 'do not use a pager')
  .option('--json', 'print one JSON object for each line')
  .action(async (service: string | undefined, options: LogsCommandOptions, command: Command) => {
    const { logs } = await import('./status/logs.ts');
    const { openTerminal } = await import('./journal/terminal.ts');
    const { tail, since, follow = false, json = false, pager } = options;
    const logsOptions = { service, tail, since, follow, json, vault, signal: abortedBySignal() };
    await runAsOwner(chosenConfig(command), (settings) =>
      logs(settings, logsOptions, { terminal: openTerminal(pager), out: console }),
    );
  });

/**
 * Total time limit for the status, whatever the engine does; a busy host that starts the program slowly gets a second
 * to answer.
 */
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
  .description('Compare the desired bundle with the applied one; exit 0 if they are equal')
  .argument('[bundle]', 'archive or directory (default: the desired bundle, once it is downloaded)')
  .option('--no-pager', 'do not use a pager')
  .option('--json', 'print JSON')
  .action(async (bundle: string | undefined, options: { pager: boolean; json?: boolean }, command: Command) => {
    const { diff } = await import('./status/diff.ts');
    const { outputFor } = await import('./commandSettings.ts');
    const { openTerminal } = await import('./journal/terminal.ts');
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
  .description('Print a state machine of the agent as text or as a picture; needs no configuration')
  .addArgument(new Argument('[name]', 'name of the machine').choices(machineNames).default('tick'))
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
  allowSlowConnections();
  ignoreStreamErrors(process.stderr);
  installCrashHandlers(process.stderr, () => vault.redactor());
  void parseArguments(program);
}

function namedEnv(text: string): string {
  if (!envPattern.test(text)) throw new InvalidArgumentError('It must be the name of an environment.');
  return text;
}

function sequenceNumber(text: string): number {
  const isSequence = /^[1-9]\d{0,14}$/.test(text) && Number(text) <= maxSequence;
  if (!isSequence) throw new InvalidArgumentError('It must be a whole number from 1 to 2^48.');
  return Number(text);
}

/** A number of lines or entries. */
function count(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 999999.');
  return Number(text);
}

/** Writes text to stdout; a closed stdout is not an error. */
function writeOut(text: string): void {
  ignoreStreamErrors(process.stdout).write(text);
}

/** The configuration that the options name; null without such options. */
function chosenConfig(command: Command): string | null {
  const { config, env, user } = command.optsWithGlobals<{ config?: string; env?: string; user?: boolean }>();
  if (config !== undefined && env !== undefined) command.error('error: --env cannot be combined with --config');
  if (user && (config ?? env) !== undefined) command.error('error: --user cannot be combined with --config or --env');
  if (user)
    return userConfigIn(homeDirectory() ?? command.error('error: --user needs an account with a home directory'));
  return env === undefined ? (config ?? null) : configOf(env);
}

function withConfig(command: Command): Command {
  return withConfigOption(command, plainConfig)
    .addOption(
      new Option('--env <env>', `additional environment of this host, configured in ${configOf('<env>')}`).argParser(
        namedEnv,
      ),
    )
    .option('--user', 'agent of the current user, configured in ~/.config/deployd/config.yaml');
}

function helpFooter(): string {
  return `
Terms:
  tick             one run of the agent, by default every minute
  secretstore      OpenBao or Vault, which stores the secrets of bundles
  bootstrap grant  JWT of the install kit, for the first login of this host

Exit codes:
  0   done, or nothing to do
  1   refused or failed
  75  try again later
  78  wrong configuration or environment

Examples:
  deployd status                               check that this host is in sync
  sudo deployd run --once                      run the agent once, now
  sudo deployd bootstrap                       use a new bootstrap grant
  sudo deployd doctor                          check this host for problems
  deployd history                              show past releases and failures
  deployd trace                                explain the agent’s decisions
  deployd logs --follow web                    follow the logs of service web
  deployd diff                                 preview the desired bundle
  sudo deployd hold --until 18:30 "disk swap"  pause deployments until 18:30
  deployd plan shop.tar.gz                     show what this bundle would do`;
}

/** Login name of who runs this command: of who has called sudo, else of its user; null where it has none. Nothing may trust it. */
function loginName(): string | null {
  return process.env['SUDO_USER'] || ownName();
}

/** The home directory of the user of this process, by its account; null without one. */
function homeDirectory(): string | null {
  try {
    return userInfo().homedir;
  } catch {
    return null;
  }
}

function ownName(): string | null {
  try {
    return userInfo().username;
  } catch {
    // A uid without an account.
    return null;
  }
}
