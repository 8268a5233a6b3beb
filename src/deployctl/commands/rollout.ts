import { type Command, Option } from 'commander';
import { formatWindow, type PlannedWave } from '../../api/rolloutPlan.rules.ts';
import type { TimeWindow } from '../../api/timeWindow.rules.ts';
import type { Result, Run, Session } from '../config/session.ts';
import { type ApiCall, hostIdOf, path, wholeSha } from '../core/client.ts';
import { usageError } from '../core/ctlError.ts';
import { countOption, envOf, formatLabels, numberOption, waveOption, windowOption } from '../core/input.ts';
import { hostArgument } from './host.ts';
import {
  conditionsOf,
  ifDesiredOption,
  overrideOf,
  overrideRolloutOption,
  pipelineOption,
  type PromotionOptions,
} from './env.ts';
import { addRolloutWait } from './wait.ts';
import {
  describeHost,
  formatAge,
  formatFacts,
  formatTable,
  formatTime,
  hostLabel,
  shortSha,
  signatureStepFacts,
} from '../core/table.ts';
import type { Rollback, Rollout, RolloutHosts, RolloutWave, WaveSize } from '../core/types.ts';

/** `deployctl rollout start|show|hosts|wait|list|halt|resume|pass|skip|edit|abort`. */
export function addRollout(program: Command, run: Run): void {
  const rollout = program
    .command('rollout')
    .helpCommand(false)
    .description('Deploy a bundle to the hosts of an environment in waves');
  addStart(rollout, run);
  const command = (name: string, description: string) =>
    rollout.command(name).description(description).argument('<env>', 'name of the environment');
  command('show', 'Show the latest rollout of an environment').action(run(showRollout));
  command('hosts', 'List the hosts of the latest rollout by wave')
    .option('--wave <number>', 'only the hosts of this wave', countOption)
    .option('--limit <count>', 'maximum number of hosts', countOption, 500)
    .action(run(listHosts));
  addRolloutWait(rollout, run);
  command('list', 'List rollouts of an environment, newest first')
    .option('--limit <count>', 'maximum number of entries', countOption, 20)
    .action(run(listRollouts));
  command('halt', 'Halt a rollout: no further host gets the bundle').action(run(actOf('halt')));
  command('resume', 'Continue after a halt; failures so far are excused, the wave needs a new success').action(
    run(actOf('resume')),
  );
  command('pass', 'Continue a rollout that waits at a gate').action(run(passGate));
  command('skip', 'Do not wait for a host, and ignore its failures until it succeeds')
    .argument('<host>', hostArgument)
    .action(run(skipHost));
  command('edit', 'Change limits, deadline or later waves of a rollout that runs')
    .option('--wave <size>', 'replace the waves that have not started; as for `rollout start`; repeatable', waveOption)
    .option('--max-failures <count>', 'halt the rollout when more hosts than this have failed', numberOption)
    .option('--soak <seconds>', 'time to wait after each successful wave', numberOption)
    .option('--deadline <seconds>', 'halt the rollout if a wave is not verified in this time', countOption)
    .action(run(editRollout));
  command('abort', 'Abort a rollout and deploy the previous bundle again').action(run(actOf('abort')));
}

function addStart(rollout: Command, run: Run): void {
  const start = rollout
    .command('start')
    .description('Deploy a bundle in waves: first to some hosts, at the end to all others')
    .argument('<env>', 'name of the environment')
    .argument('<sha>', 'digest of a pushed bundle, or its first characters');
  planOptions(start).addOption(ifDesiredOption()).addOption(pipelineOption()).action(run(startRollout));
}

/** `deployctl rollback`. */
export function addRollback(program: Command, run: Run): void {
  const rollback = program
    .command('rollback')
    .description('Deploy the content of an earlier bundle under a new sequence; hosts that still run it keep it')
    .argument('[env]', 'name of the environment (default: the only one)')
    .argument('[sha]', 'digest of the earlier bundle, or its first characters; by default the previous one')
    .option('--with-secrets', 'also return to the versions of secrets that the earlier bundle pins');
  planOptions(rollback)
    .addOption(ifDesiredOption())
    .addOption(pipelineOption())
    .addOption(overrideRolloutOption())
    .action(run(rollBack));
}

/** The options for the waves of a rollout. */
export function planOptions(command: Command): Command {
  return command
    .option(
      '--wave <size>',
      'hosts of a wave: 5, 10% or all, optionally with labels (10%:ring=canary); repeatable',
      waveOption,
    )
    .option(
      '--max-failures <count>',
      'halt the rollout when more hosts than this have failed (default: 0)',
      numberOption,
    )
    .option('--soak <seconds>', 'time to wait after each successful wave (default: 300)', numberOption)
    .option('--deadline <seconds>', 'halt the rollout if a wave is not verified in this time', countOption)
    .option('--gate', 'wait for `deployctl rollout pass` after each wave')
    .addOption(
      new Option('--gate-webhook <id>', 'wait for the answer of this webhook after each wave').conflicts('gate'),
    )
    .option(
      '--window <window>',
      "start waves only in this window (days, start+minutes, time zone): 'mon-fri 08:30+90 Europe/Berlin'; repeatable",
      windowOption,
    );
}

/** The plan of a rollout and the conditions of its promotion, as options. */
export interface StartOptions extends PromotionOptions {
  wave?: PlannedWave[];
  maxFailures?: number;
  soak?: number;
  deadline?: number;
  gate?: boolean;
  gateWebhook?: string;
  window?: TimeWindow[];
}

async function startRollout(session: Session, [env, sha]: [string, string], options: StartOptions): Promise<Result> {
  const api = await session.api();
  const sha256 = await wholeSha(api, sha, env);
  const conditions = await conditionsOf(api, env, options);
  const plan = planOf(options);
  return change(session, {
    method: 'POST',
    path: path`/v1/envs/${env}/rollouts`,
    json: { sha256, ...plan, ...conditions },
  });
}

/** The plan of a rollout, from its options. */
export function planOf({ wave: waves = [], deadline, window: windows = [], ...options }: StartOptions) {
  const { maxFailures = 0, soak = 300, ...gate } = options;
  const limits = { max_failures: maxFailures, soak_s: soak, ...(deadline !== undefined && { deadline_s: deadline }) };
  return { waves, ...limits, windows, ...gateOf(gate) };
}

/** True if options describe a rollout, even one of a single wave. */
function hasPlan({ wave, maxFailures, soak, deadline, gate, gateWebhook, window }: StartOptions): boolean {
  return [wave, maxFailures, soak, deadline, gate, gateWebhook, window].some((value) => value !== undefined);
}

/** Returns to an earlier bundle: by a rollout if the options describe one, otherwise on all hosts at once. */
async function rollBack(
  session: Session,
  [named, sha]: [string | undefined, string | undefined],
  {
    withSecrets = false,
    overrideRollout,
    ...options
  }: StartOptions & { withSecrets?: boolean; overrideRollout?: true },
): Promise<Result> {
  const env = await envOf(session, named);
  const api = await session.api();
  const earlier = sha === undefined ? {} : { sha256: await wholeSha(api, sha, env) };
  const conditions = await conditionsOf(api, env, options);
  const json = await api.call<Rollback>({
    method: 'POST',
    path: path`/v1/envs/${env}/rollback`,
    json: {
      ...{ ...earlier, ...conditions, ...overrideOf(overrideRollout), with_secrets: withSecrets },
      ...(hasPlan(options) && { plan: planOf(options) }),
    },
    tries: 1,
  });
  const { bundle, from, missing, rollout, denying = 0, denying_hosts: denyingHosts = [] } = json;
  const facts = formatFacts([
    ['bundle', bundle.sha256],
    ['content', `${bundle.name} ${bundle.version}, from ${from}, now with sequence ${bundle.sequence}`],
    ['state', missing === null ? (rollout === null ? 'is desired' : 'is rolled out in waves') : 'awaits signatures'],
    ['missing', missing && `${missing.required} of the signatures of ${missing.signers.join(', ')}`],
    ...signatureStepFacts(bundle),
    ...denyingHosts.map((host): [string, string] => ['denied by', describeHost(host)]),
    ['denied by', denying > denyingHosts.length ? `${denying - denyingHosts.length} more hosts` : null],
    ['remedy', denying === 0 ? null : 'these hosts keep their bundle; remove rollback from their policy.deny'],
  ]);
  return { json, text: rollout === null ? facts : `${facts}\n\n${formatRollout(rollout, session)}` };
}

async function skipHost(session: Session, [env, host]: [string, string]): Promise<Result> {
  const backend = await hostIdOf(await session.api(), host);
  return change(session, { method: 'POST', path: path`/v1/envs/${env}/rollout/skip`, json: { backend } });
}

function editRollout(
  session: Session,
  [env]: [string],
  {
    wave: waves,
    maxFailures,
    soak,
    deadline,
  }: Partial<Pick<StartOptions, 'wave' | 'maxFailures' | 'soak' | 'deadline'>>,
): Promise<Result> {
  const changes = { waves, max_failures: maxFailures, soak_s: soak, deadline_s: deadline };
  const json = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
  if (Object.keys(json).length === 0)
    throw usageError('ROLLOUT_INVALID', 'give at least one of --wave, --max-failures, --soak and --deadline');
  return change(session, { method: 'POST', path: path`/v1/envs/${env}/rollout/edit`, json });
}

function gateOf({ gate = false, gateWebhook }: Pick<StartOptions, 'gate' | 'gateWebhook'>) {
  if (gateWebhook !== undefined) return { gate: 'webhook', gate_webhook: gateWebhook };
  return { gate: gate ? 'manual' : 'none' };
}

function showRollout(session: Session, [env]: [string]): Promise<Result> {
  return change(session, { method: 'GET', path: path`/v1/envs/${env}/rollout` });
}

async function listHosts(
  session: Session,
  [env]: [string],
  { wave, limit }: { wave?: number; limit: number },
): Promise<Result> {
  const api = await session.api();
  const query = { limit, ...(wave !== undefined && { wave }) };
  const json = await api.call<RolloutHosts>({ method: 'GET', path: path`/v1/envs/${env}/rollout/hosts`, query });
  const rows = json.hosts.map((host) => [
    String(host.wave),
    hostLabel(host),
    host.site,
    host.id,
    host.status,
    host.last_seen_at === null ? '-' : formatAge(host.last_seen_at, session.nowMs),
    host.deferred_by ?? '-',
  ]);
  const head = ['WAVE', 'HOST', 'SITE', 'ID', 'STATUS', 'SEEN', 'DEFERRED BY'];
  const cut = rows.length < limit ? '' : `\n\nonly the first ${limit} hosts; --wave lists the hosts of one wave`;
  return { json, text: formatTable(head, rows, session.width) + cut };
}

async function listRollouts(session: Session, [env]: [string], { limit }: { limit: number }): Promise<Result> {
  const api = await session.api();
  const call = { method: 'GET', path: path`/v1/envs/${env}/rollouts`, query: { limit } } as const;
  const json = await api.call<{ rollouts: Rollout[] }>(call);
  const rows = json.rollouts.map(({ sha256, state, state_since, started, waves, created_by }) => [
    shortSha(sha256),
    state,
    formatAge(state_since, session.nowMs),
    `${started} of ${waves.length}`,
    created_by,
  ]);
  return { json, text: formatTable(['BUNDLE', 'STATE', 'SINCE', 'WAVES', 'BY'], rows, session.width) };
}

function actOf(act: 'halt' | 'resume' | 'abort') {
  return (session: Session, [env]: [string]): Promise<Result> =>
    change(session, { method: 'POST', path: path`/v1/envs/${env}/rollout/${act}` });
}

/** Names the wave that was seen: another one may wait at its gate by the time of the call. */
async function passGate(session: Session, [env]: [string]): Promise<Result> {
  const api = await session.api();
  const { started } = await api.call<Rollout>({ method: 'GET', path: path`/v1/envs/${env}/rollout` });
  return change(session, {
    method: 'POST',
    path: path`/v1/envs/${env}/rollout/pass`,
    json: { wave: Math.max(1, started) },
  });
}

/** Makes a call that is answered with a rollout. */
async function change(session: Session, call: ApiCall): Promise<Result> {
  const json = await (await session.api()).call<Rollout>(call);
  return { json, text: formatRollout(json, session) };
}

/** A rollout as text, with a table of its waves. */
function formatRollout(rollout: Rollout, { width, nowMs }: { width: number; nowMs: number }): string {
  const { state, halted_by, next_start_at, max_failures, soak_s, deadline_s, gate_reason, waves, started } = rollout;
  const facts = formatFacts([
    ['rollout', rollout.id],
    ['env', rollout.env],
    ['bundle', rollout.sha256],
    ['before', rollout.previous_sha ?? 'nothing'],
    [
      'state',
      `${state}${halted_by === null ? '' : ` by ${halted_by}`} since ${formatTime(rollout.state_since, nowMs)}`,
    ],
    ['next wave', next_start_at && formatTime(next_start_at, nowMs)],
    ['limit', `halts when more than ${max_failures} hosts have failed`],
    ['deadline', deadline_s === null ? null : `halts when a wave is not verified after ${deadline_s} s`],
    ['after a wave', `${soak_s} s of soak${formatGate(rollout)}`],
    ['gate', gate_reason],
    ...rollout.windows.map((window): [string, string] => ['window', formatWindow(window)]),
    ['started by', `${rollout.created_by} at ${formatTime(rollout.created_at, nowMs)}`],
    ['later waves', `${rollout.remaining} hosts`],
    ...rollout.failed_hosts.map((host): [string, string] => ['failed', describeHost(host)]),
    ...rollout.awaited_hosts.map((host): [string, string] => ['waits for', describeHost(host)]),
  ]);
  const head = ['WAVE', 'TAKES', 'HOSTS', 'WAITING', 'SUCCEEDED', 'FAILED', 'EXCUSED', 'OFFLINE', 'ABSENT', 'ASLEEP'];
  const rows = waves.map((wave, index) => [String(index + 1), formatSize(wave), ...countsOf(wave, index < started)]);
  return `${facts}\n\n${formatTable(head, rows, width)}`;
}

function formatGate({ gate, gate_webhook }: Rollout): string {
  if (gate === 'none') return '';
  const pass = '`deployctl rollout pass`';
  return `, then the gate: ${gate === 'manual' ? pass : `the webhook ${gate_webhook}, or ${pass}`}`;
}

function countsOf(wave: RolloutWave, hasStarted: boolean): string[] {
  const { hosts, waiting, succeeded, failed, excused, offline, absent, asleep } = wave;
  const counts = [waiting, succeeded, failed, excused, offline, absent, asleep];
  return [String(hosts), ...counts.map((count) => (hasStarted ? String(count) : '-'))];
}

function formatSize({ count, percent, labels }: WaveSize): string {
  const size = percent === null ? String(count ?? 'all') : `${percent}%`;
  return `${size} ${formatLabels(labels)}`.trim();
}
