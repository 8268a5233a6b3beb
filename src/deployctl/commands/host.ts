import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { type BackendState, remainingStates } from '../../../machines/backend.ts';
import { requireDestination, type Result, type RevealOptions, type Run, type Session } from '../config/session.ts';
import { type Api, hostIdOf, path, readHost, readPages } from '../core/client.ts';
import { CtlError, exits, usageError } from '../core/ctlError.ts';
import { signerLines } from '../../signatures/signatureFiles.ts';
import { makePrivateDirectory, writePrivateFile } from '../core/files.ts';
import {
  type BulkOptions,
  chooseHosts,
  countOption,
  forEachHost,
  hostFilters,
  readAnswer,
  requireNoFilter,
} from '../core/input.ts';
import { failureCodes, reasonOf, tailOf } from './convergence.ts';
import {
  describeHost,
  formatAge,
  formatFacts,
  formatTable,
  formatTime,
  harmless,
  hostLabel,
  keepCommand,
  shortId,
  shortSha,
} from '../core/table.ts';
import type {
  BackendDetails,
  EnvDetails,
  HostCopy,
  InstallKit,
  ReceivedReport,
  Retiring,
  SecretName,
} from '../core/types.ts';

/** The description of an argument that names a host. */
export const hostArgument = 'name of the host, or its id, of which 8 characters are enough';

/** `deployctl kit`. */
export function addKit(program: Command, run: Run): void {
  const command = program
    .command('kit')
    .description('Create new credentials for a host and print its install command; earlier credentials become invalid')
    .argument('[host]', `${hostArgument}; without it, all hosts that match the options`)
    .option('--output <directory>', 'write the credentials to files in this directory, and print only the command')
    .option('--show', 'print the credentials even to a terminal');
  hostFilters(command).option('--confirm', 'do not ask before changing several hosts').action(run(kit));
}

async function kit(
  session: Session,
  [host]: [string | undefined],
  options: RevealOptions & BulkOptions,
): Promise<Result> {
  const { output } = options;
  const api = await session.api();
  if (host !== undefined) {
    requireNoFilter(options);
    requireDestination(session, options);
    return revealKit(session, await hostIdOf(api, host), options);
  }
  if (output === undefined) throw usageError('TERMINAL', 'the kits of several hosts need --output DIRECTORY');
  const chosen = await chooseHosts(session, options, 'create new credentials for');
  return forEachHost(chosen, async ({ id }) => {
    const { json } = await revealKit(session, id, { output: join(output, id) });
    return { json, line: (json as InstallKit).command };
  });
}

async function revealKit(session: Session, id: string, options: RevealOptions): Promise<Result> {
  const api = await session.api();
  const dir = options.output === undefined ? null : resolve(options.output);
  if (dir !== null) await makePrivateDirectory(dir);
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
    // A service of an older version does not send it.
    ['tenancy-ca.pem', kit.tenancy_ca ?? null],
    ['secretstore-ca.pem', kit.secretstore_ca],
    ['mesh-enrolment.jwt', kit.mesh_enrolment_jwt],
    ['download-token', kit.download_token],
    ['trust.json', kit.trust ? JSON.stringify(kit.trust, null, 2) : null],
  ];
  return files.filter((file): file is [string, string] => file[1] !== null);
}

function withoutCredentials(kit: InstallKit): object {
  return Object.fromEntries(Object.entries(kit).filter(([key]) => !credentials.includes(key)));
}

const credentials = ['bootstrap_jwt', 'mesh_enrolment_jwt', 'download_token'];

function formatKit(kit: InstallKit, nowMs: number): string {
  return formatFacts([
    ['host', `${kit.id}, environment ${kit.env}, site ${kit.site}, transport ${kit.transport}`],
    ['grant', `expires at ${formatTime(kit.expires_at, nowMs)}`],
    // A service of an older version sends neither.
    ...signerFacts(kit),
    ['sequence', kit.sequence ? `${kit.sequence} or higher` : 'any: the host accepts bundles of any age'],
    ['installer', kit.base_url && `${kit.base_url}/${kit.version}/install.sh`],
    ['on the host', kit.command],
  ]);
}

/** The signers that the host will trust, for a person who compares the fingerprints. */
function signerFacts({ trust }: InstallKit): [label: string, value: string][] {
  if (!trust) return [['trust', 'nobody: the host runs unsigned bundles, unless you give it signers']];
  const lines = signerLines({ ...trust, root: trust.root && JSON.stringify(trust.root) });
  return lines.map((line, index) => [index === 0 ? 'trust' : '', line]);
}

interface RetireOptions extends Omit<BulkOptions, 'swarm'> {
  force?: boolean;
  purgeVolumes?: boolean;
  swarm?: boolean;
  secrets?: 'keep' | 'destroy';
}

/** `deployctl retire`. */
export function addRetire(program: Command, run: Run): void {
  const command = program
    .command('retire')
    .description('Stop the services of a host, then revoke its credentials')
    .argument('[host]', `${hostArgument}; without it, all hosts that match the options`)
    .option('--confirm', 'do not ask for the name of the host; required without a terminal')
    .option('--force', 'retire the host even if it is offline; if it is retiring already, stop waiting for it')
    .option('--swarm', 'retire all managers of the swarm of this host, and remove the stack')
    .option('--purge-volumes', 'remove volumes too, except on production hosts')
    .addOption(
      new Option(
        '--secrets <choice>',
        'for the last host of an environment: keep or destroy its secrets (default: ask; without a terminal, they are destroyed after 7 days, or as the service is configured)',
      ).choices(['keep', 'destroy']),
    );
  hostFilters(command, { bySwarm: false }).action(run(retire));
}

async function retire(
  session: Session,
  [host]: [string | undefined],
  { swarm, ...options }: RetireOptions,
): Promise<Result> {
  if (host !== undefined) {
    requireNoFilter(options);
    return retireHost(session, host, { ...options, ...(swarm !== undefined && { swarm }) });
  }
  if (swarm === true) throw usageError('NAME_INVALID', 'name a manager of the swarm');
  const chosen = await chooseHosts(session, options, 'stop the services of, and retire,');
  return forEachHost(chosen, async ({ id }) => {
    const { json, text } = await retireHost(session, id, { ...options, confirm: true });
    return { json, line: text ?? '' };
  });
}

async function retireHost(session: Session, host: string, options: RetireOptions): Promise<Result> {
  const { force = false, purgeVolumes = false, swarm = false } = options;
  const api = await session.api();
  const backend = await readHost(api, host);
  const { id } = backend;
  const managers = swarm ? (backend.managers ?? []) : [];
  const isAsked = options.confirm !== true && session.io.stdin.isTTY === true;
  const last = options.confirm || isAsked ? await secretsAtStake(api, backend, managers) : null;
  if (isAsked) await askForName(session, { backend, managers, purgeVolumes });
  const confirm = options.confirm ?? isAsked;
  const secrets = options.secrets ?? (last && (await askForChoice(session, last)));
  // A service of an older version knows neither swarms nor a choice for secrets.
  const body = { confirm, force, purge_volumes: purgeVolumes, ...(swarm && { swarm }), ...(secrets && { secrets }) };
  const call = { method: 'POST', path: path`/v1/backends/${id}/retire`, json: body } as const;
  const json = await api.call<Retiring>(call);
  const retiring = [json, ...(json.others ?? [])];
  const lines = retiring.flatMap(({ id, state, leftover }) => [
    `host ${hostLabel([backend, ...managers].find((each) => each.id === id) ?? { id })} is ${state}`,
    ...(leftover ? [`warning: ${leftover}`] : []),
  ]);
  const left = (json.copies ?? []).map(
    (copy) =>
      `warning: ${describeCopy(copy)} uses the same token and may run on; remove deployd and its containers there`,
  );
  return { json, text: [...lines, ...left, ...(last ? formatEnd(json, last) : [])].join('\n') };
}

interface EndOfHost {
  backend: BackendDetails;
  /** The other managers of its swarm that are retired with it. */
  managers: BackendDetails['managers'] & object;
  purgeVolumes: boolean;
}

/** Shows what a retirement destroys, and asks for the name of the host. Throws NOT_CONFIRMED for any other answer. */
async function askForName({ io }: Session, { backend, managers, purgeVolumes }: EndOfHost): Promise<void> {
  const services = [...new Set((backend.containers ?? []).map(({ service }) => service))];
  const lines = [
    `this retires the host ${describeHost(backend)}:`,
    ...managers.map((manager) => `and the manager ${describeHost(manager)}`),
    services.length > 0 ? `services that are stopped: ${services.join(', ')}` : 'it has reported no containers',
    purgeVolumes ? 'its volumes are removed, except on a production host' : 'its volumes are kept',
    'its credentials are revoked; this cannot be undone',
  ];
  io.stderr.write(`${lines.map(harmless).join('\n')}\n`);
  const name = hostLabel(backend);
  const answer = (await readAnswer(io, `type ${harmless(name)} to retire it:`)).trim();
  if (answer !== name) throw notRetired();
}

function notRetired(): CtlError {
  return new CtlError({ exit: exits.failed, code: 'NOT_CONFIRMED', message: 'nothing was retired' });
}

/** An environment without further hosts, and the names of its secrets; null if they cannot be listed. */
interface SecretsAtStake {
  env: string;
  names: string[] | null;
}

/** The secrets of an environment of which this is the last host; null if there are none, or others remain. */
async function secretsAtStake(
  api: Api,
  backend: BackendDetails,
  managers: EndOfHost['managers'],
): Promise<SecretsAtStake | null> {
  const { env } = backend;
  const { backends } = await api.call<EnvDetails>({ method: 'GET', path: path`/v1/envs/${env}` });
  const leaving: { state: BackendState }[] = [backend, ...managers];
  const remaining = remainingStates.reduce((sum, state) => sum + (backends[state] ?? 0), 0);
  if (remaining > leaving.filter(({ state }) => remainingStates.includes(state)).length) return null;
  const names = await api.call<{ secrets: SecretName[] }>({ method: 'GET', path: path`/v1/envs/${env}/secrets` }).then(
    ({ secrets }) => secrets.map(({ key }) => key),
    (error: unknown) => {
      if (error instanceof CtlError) return null;
      throw error;
    },
  );
  return names?.length === 0 ? null : { env, names };
}

/** Asks on the terminal; null without one. Throws NOT_CONFIRMED for any other answer. */
async function askForChoice({ io }: Session, { env, names }: SecretsAtStake): Promise<'keep' | 'destroy' | null> {
  if (!io.stdin.isTTY) return null;
  io.stderr.write(`no other host of environment ${env} remains; ${formatNames(names)}\n`);
  const answer = (await readAnswer(io, 'keep or destroy them? [keep/destroy]')).trim();
  if (answer === 'keep' || answer === 'destroy') return answer;
  throw notRetired();
}

function formatNames(names: string[] | null): string {
  return names === null ? 'its secrets cannot be listed' : `its secrets: ${names.join(', ')}`;
}

/** Says whether the secrets of the environment are kept or destroyed. A service of an older version does not send it. */
function formatEnd({ secrets = null }: Partial<Retiring>, { env, names }: SecretsAtStake): string[] {
  if (secrets === null) return [];
  const them = `the secrets of environment ${env}${names === null ? '' : ` (${names.join(', ')})`}`;
  if (secrets.choice === 'keep') return [`${them} are kept`];
  if (secrets.choice === 'destroy') return [`${them} are destroyed when the retirement is finished`];
  return [
    `${them} are destroyed ${formatGrace(secrets.grace_s)} after its last host; to keep them: ${keepCommand(env)}`,
  ];
}

function formatGrace(seconds: number): string {
  const units = [
    [86_400, 'days'],
    [3600, 'hours'],
    [60, 'minutes'],
  ] as const;
  const [size, unit] = units.find(([each]) => seconds >= 2 * each) ?? [1, 'seconds'];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** `deployctl host accept`. */
export function addBackendAccept(backend: Command, run: Run): void {
  backend
    .command('accept')
    .description('Accept one of several machines that use the token of a host, and refuse the others')
    .argument('<host>', hostArgument)
    .argument('[boot]', 'first characters of the boot of the true host; without it, the hosts are listed')
    .action(run(acceptCopy));
}

async function acceptCopy(session: Session, [host, boot]: [string, string | undefined]): Promise<Result> {
  const api = await session.api();
  const shown = await readHost(api, host);
  const { id, copies = [] } = shown;
  if (boot === undefined) return { json: { copies }, text: listText(shown, copies, session) };
  const found = copies.filter((copy) => (copy.boot ?? copy.machine ?? '').startsWith(boot));
  const [chosen] = found;
  if (chosen === undefined || found.length > 1) {
    const count = chosen === undefined ? 'no host' : `${found.length} hosts`;
    const message = `${count} with the token of ${describeHost(shown)} ${found.length > 1 ? 'match' : 'matches'} ${boot}`;
    const details = copyTable(copies, session).split('\n');
    throw new CtlError({ exit: exits.usage, code: 'HOST_NOT_FOUND', message, details });
  }
  const body = { machine: chosen.machine, boot: chosen.boot };
  const call = { method: 'POST', path: path`/v1/backends/${id}/accept`, json: body } as const;
  const json = await api.call<BackendDetails>(call);
  const refused = (json.copies ?? []).filter(({ role }) => role === 'refused');
  const lines = [
    `${describeCopy(chosen)} is accepted`,
    ...refused.map((copy) => `refused: ${describeCopy(copy)}`),
    'create a separate record (`deployctl host create`) for each other host that should keep deployd, and remove deployd from the rest',
  ];
  return { json, text: lines.join('\n') };
}

function listText({ id, cloned_at }: BackendDetails, copies: readonly HostCopy[], session: Session): string {
  if (copies.length === 0) return `the host ${shortId(id)} does not report its machine and boot`;
  const next = cloned_at
    ? `two hosts use this token: compare \`cat /proc/sys/kernel/random/boot_id\` on each, then run deployctl host accept ${shortId(id)} BOOT`
    : `no host waits for a decision`;
  return `${copyTable(copies, session)}\n${next}`;
}

/** The hosts that have used the token of a backend, the newest first. */
function copyTable(copies: readonly HostCopy[], { nowMs, width }: Pick<Session, 'nowMs' | 'width'>): string {
  const rows = copies.map((copy) => [
    copy.boot === null ? '-' : shortId(copy.boot),
    copy.machine === null ? '-' : shortId(copy.machine),
    copy.name,
    copy.address ?? '-',
    formatAge(copy.first_seen_at, nowMs),
    formatAge(copy.last_seen_at, nowMs),
    copy.role,
  ]);
  return formatTable(['BOOT', 'MACHINE', 'HOST', 'ADDRESS', 'FIRST SEEN', 'LAST SEEN', 'ROLE'], rows, width);
}

/** A host in a line. */
export function describeCopy({ boot, machine, name, address }: HostCopy): string {
  const id = boot === null ? `machine ${shortId(machine ?? '')}` : `boot ${shortId(boot)}`;
  return `${name} (${id}${address === null ? '' : `, ${address}`})`;
}

/** `deployctl reports`. */
export function addReports(program: Command, run: Run): void {
  program
    .command('reports')
    .description('List the reports of a host, newest first, and the last lines of output of its newest failure')
    .argument('<host>', hostArgument)
    .option('--limit <count>', 'maximum number of entries', countOption, 20)
    .action(run(reports));
}

async function reports(session: Session, [host]: [string], { limit }: { limit: number }): Promise<Result> {
  const api = await session.api();
  const id = await hostIdOf(api, host);
  const call = { path: path`/v1/backends/${id}/reports`, key: 'reports', cursor: 'before', limit } as const;
  const json = await readPages<'reports', ReceivedReport>(api, call);
  const rows = json.reports.map((report) => [
    formatAge(report.received_at, session.nowMs),
    report.outcome,
    report.reason,
    shortSha(report.desired_sha),
    shortSha(report.applied_sha),
    reasonOf(report),
  ]);
  const head = ['AGE', 'OUTCOME', 'REASON', 'DESIRED', 'APPLIED', 'DETAIL'];
  const failed = json.reports.find(({ outcome }) => outcome in failureCodes);
  const lines = failed === undefined ? [] : ['', ...formatFailure(failed, session.nowMs)];
  return { json, text: [formatTable(head, rows, session.width), ...lines].join('\n') };
}

/** A failure with its whole reason, which a table shortens, and the last lines of output. */
function formatFailure(report: ReceivedReport, nowMs: number): string[] {
  const { outcome, received_at } = report;
  const reason = reasonOf(report).split('\n');
  return [
    `newest failure: ${outcome} at ${formatTime(received_at, nowMs)}`,
    ...[...reason, ...tailOf(report)].map((line) => `  ${harmless(line)}`),
  ];
}
