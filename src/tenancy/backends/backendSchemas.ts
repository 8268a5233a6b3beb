import { type Static, Type } from 'typebox';
import { CheckIn, Container, deferringFacts, enforced, Report, Swarm, violations } from '../../api/agentSchemas.ts';
import { backendCursorPattern, cursorPattern } from '../core/lists.rules.ts';
import { Signers } from '../envs/envSchemas.ts';
import { hostChanges } from './restore.rules.ts';
import {
  backendStates,
  Body,
  Deferral,
  EnvName,
  Labels,
  Limit,
  Line,
  Nullable,
  patterns,
  SecretsDestroyAt,
  Sha256,
  SwarmId,
  Timestamp,
  Uuid,
} from '../../api/commonSchemas.ts';

/** The URL parameter that names a backend. */
export const BackendParams = Type.Object({ id: Uuid });

const State = Type.Enum([...backendStates]);
const Transport = Type.Enum(['sdk', 'proxy', 'system']);
/** The same form as in the agent's configuration. */
const Site = Type.String({ pattern: '^(?! )[^\\u0000-\\u001f\\u007f-\\u009f]{1,253}(?<! )$' });

const Leftover = Nullable(
  Type.String({
    description:
      'Why containers may still run on its host although it is retired, or about to be; null without such a reason.',
  }),
);

const HostName = Nullable(Type.String({ description: 'As its host reports it, not unique; null before that.' }));

const backend = {
  id: Uuid,
  env: EnvName,
  host_name: HostName,
  site: Type.String(),
  laptop: Type.Boolean(),
  transport: Transport,
  labels: Type.Record(Type.String(), Type.String()),
  state: State,
  state_since: Timestamp,
  created_at: Timestamp,
  last_seen_at: Nullable(Timestamp),
  generation: Type.Integer({ description: 'Generation of its newest credentials; a restore of the store skips some.' }),
  kits_revealed: Type.Integer({ description: 'How often its install kit was revealed.' }),
  applied_sha: Nullable(Sha256),
  applied_since: Nullable({ ...Timestamp, description: 'When its check-ins began to report that bundle.' }),
  desired_sha: Nullable(Sha256),
  desired_since: Nullable({ ...Timestamp, description: 'When its desired bundle was promoted.' }),
  agent_version: Nullable(Type.String()),
  healthy: Nullable(
    Type.Boolean({
      description:
        'Whether all services of the applied bundle are healthy; null if that is unknown: before the first check-in, and when the host is silent.',
    }),
  ),
  trouble: Nullable(Type.String({ description: 'Outcome of its newest report: refused, failed or unhealthy.' })),
  deferred_by: Nullable({
    ...Deferral,
    description: 'Why changes on its host are deferred; a hold takes precedence over windows.',
  }),
  ...deferringFacts,
  differs: Nullable(
    Type.String({
      description:
        'How the settings of its host differ from the settings that are recorded for its environment (trusted signers, policy, maintenance windows); null without a difference, and if one of the two is unknown.',
    }),
  ),
  swarm: Nullable(Swarm),
  leftover: Leftover,
  purge_volumes: Type.Boolean(),
  finished: Type.Array(Type.String(), { description: 'Steps of finishing that are done.' }),
  locked_at: Nullable({ ...Timestamp, description: 'When it was locked: all calls of its host are refused since.' }),
  cloned_at: Nullable({
    ...Timestamp,
    description: 'Since when two hosts use its token. Both are refused until an operator accepts one.',
  }),
};

const HostId = Nullable(Type.String({ description: 'Null where the agent of the host cannot read it.' }));

/** A machine in one of its boots that has used the token of a backend. */
const Copy = Type.Object(
  {
    machine: { ...HostId, description: 'Derived from /etc/machine-id; cloned images may share it.' },
    boot: { ...HostId, description: 'Id of the boot; new at each boot.' },
    name: Type.String({ description: 'Host name, as the host reports it.' }),
    address: Nullable(Type.String({ description: 'Address of its calls.' })),
    first_seen_at: Timestamp,
    last_seen_at: Timestamp,
    role: Type.Enum(['accepted', 'superseded', 'contending', 'refused'], {
      description:
        'superseded: a later boot or machine took its place; contending: refused until an operator accepts a host.',
    }),
  },
  { title: 'HostCopy' },
);

/** The host that an operator accepts, by both ids as the backend shows them. */
export const ChosenHost = Body({
  machine: Nullable(Type.String({ maxLength: 64 })),
  boot: Nullable(Type.String({ maxLength: 36 })),
});

/** A report with the time at which it was received. */
export const ReceivedReport = Type.Object(
  { received_at: Timestamp, ...Report.properties },
  { title: 'ReceivedReport' },
);
export type ReceivedReport = Static<typeof ReceivedReport>;

const PendingStep = Type.Object(
  {
    step: Type.String(),
    tries: Type.Integer(),
    error: Nullable(Type.String({ description: 'Why the last attempt failed.' })),
  },
  { title: 'PendingStep' },
);

const Manager = Type.Object(
  { id: Uuid, host_name: HostName, site: Type.String(), state: State, leader: Type.Boolean() },
  { title: 'Manager' },
);

/** A backend with its newest report. */
export const BackendDetails = Type.Object(
  {
    ...backend,
    pending_steps: Type.Array(PendingStep),
    secrets_destroy_at: SecretsDestroyAt,
    last_report: Nullable(ReceivedReport),
    host: Nullable(CheckIn.properties.host),
    ...enforced,
    policy: CheckIn.properties.policy,
    violations,
    containers: Type.Array(Container, { description: 'Containers that its newest check-in reported.' }),
    copies: Type.Array(Copy, { description: 'The machines and boots that have used its token, the newest first.' }),
    managers: Type.Array(Manager, { description: 'The other managers of its swarm, in its environment.' }),
  },
  { title: 'BackendDetails' },
);
export type BackendDetails = Static<typeof BackendDetails>;

/** A backend. */
export const Backend = Type.Object(backend, { title: 'Backend' });
export type Backend = Static<typeof Backend>;

/** A page of backends. */
export const BackendList = Type.Object(
  { backends: Type.Array(Backend), next: Nullable(Type.String()) },
  { title: 'BackendList' },
);
export type BackendList = Static<typeof BackendList>;

const columns = ['id', 'host_name', 'site', 'state', 'last_seen_at', 'agent_version'];

/** Filters of a list of backends; all must match. */
export const BackendQuery = Body({
  env: Type.Optional(EnvName),
  state: Type.Optional(
    Type.String({ pattern: patterns.states, description: 'One of these states, separated by commas.' }),
  ),
  q: Type.Optional({
    ...Line,
    description:
      'A part of the name of the host, of the site, of the value of a label or of the version of the agent, or the beginning of the id.',
  }),
  host: Type.Optional({ ...Line, description: 'Name of a host, also without its domain, or 8 characters of its id.' }),
  behind: Type.Optional(
    Type.Boolean({ default: false, description: 'True: only hosts that do not run the desired bundle.' }),
  ),
  sick: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'True: only hosts that are unhealthy, or whose newest report is refused, failed or unhealthy.',
    }),
  ),
  cloned: Type.Optional(
    Type.Boolean({ default: false, description: 'True: only backends whose token two hosts use.' }),
  ),
  deferred_by: Type.Optional({ ...Deferral, description: 'Only hosts whose changes are deferred for this reason.' }),
  differs: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'True: only hosts whose settings differ from the settings that are recorded for their environment.',
    }),
  ),
  swarm: Type.Optional({ ...SwarmId, description: 'Only managers of this swarm.' }),
  sort: Type.Optional(
    Type.Enum([...columns, ...columns.map((column) => `-${column}`)], {
      default: 'id',
      description: 'Sort key, then the id; a leading - sorts in descending order.',
    }),
  ),
  after: Type.Optional(
    Type.String({ pattern: backendCursorPattern, description: '`next` of the previous page, in the same order.' }),
  ),
  limit: Limit,
});

/** A new backend. */
export const NewBackend = Body({
  env: EnvName,
  site: Site,
  laptop: Type.Boolean(),
  transport: Transport,
  labels: Type.Optional(Labels),
});
/** The new labels of a backend, which replace all earlier ones. */
export const NewLabels = Body({ labels: Labels });

/** A page of reports, newest first. */
export const ReportList = Type.Object(
  { reports: Type.Array(ReceivedReport), next: Nullable(Type.String()) },
  { title: 'ReportList' },
);
export type ReportList = Static<typeof ReportList>;
/** Limits of a list of reports; `before` is the `next` cursor of the previous page. */
export const ReportQuery = Body({ before: Type.Optional(Type.String({ pattern: cursorPattern })), limit: Limit });

/** A choice for the secrets of an environment whose last host is retired. */
const SecretsChoice = Type.Enum(['keep', 'destroy']);
const Flag = Type.Optional(Type.Boolean({ default: false }));

/** Options of a retirement. */
export const Retirement = Body({
  confirm: Flag,
  force: Flag,
  purge_volumes: Flag,
  swarm: Type.Optional(
    Type.Boolean({ default: false, description: 'All managers of its swarm, and what they run is taken down.' }),
  ),
  secrets: Type.Optional({
    ...SecretsChoice,
    description:
      'The choice for the secrets of its environment if no other host remains there. By default they are destroyed after the grace of the service.',
  }),
});
export type Retirement = Static<typeof Retirement>;
/** A started retirement. */
export const Retiring = Type.Object(
  {
    id: Uuid,
    state: State,
    leftover: Leftover,
    secrets: Nullable(
      Type.Object(
        { choice: Nullable(SecretsChoice), grace_s: Type.Integer({ description: 'Seconds.' }) },
        {
          title: 'SecretsEnd',
          description:
            'The choice for the secrets of its environment; without one they are destroyed after the grace. Null while other hosts remain, which need them.',
        },
      ),
    ),
    others: Type.Optional(
      Type.Array(Type.Object({ id: Uuid, state: State, leftover: Leftover }), {
        description: 'With swarm: the managers that are retired with it.',
      }),
    ),
    copies: Type.Optional(
      Type.Array(Copy, { description: 'Further hosts with its token, which may never take their services down.' }),
    ),
  },
  { title: 'Retiring' },
);
export type Retiring = Static<typeof Retiring>;

/** The files and the command that install an agent on a host. */
export const InstallKit = Type.Object(
  {
    id: Uuid,
    env: EnvName,
    site: Type.String(),
    version: Type.String({ description: 'Version of the package to install.' }),
    base_url: Nullable(Type.String({ description: 'Where the installer downloads from.' })),
    download_token: Nullable(Type.String()),
    bootstrap_jwt: Type.String(),
    expires_at: Timestamp,
    transport: Transport,
    tenancy_url: Type.String(),
    tenancy_ca: Nullable(Type.String({ description: 'PEM; null if the system of the host trusts the service.' })),
    secretstore_url: Type.String(),
    secretstore_ca: Nullable(Type.String({ description: 'PEM.' })),
    mesh_enrolment_jwt: Nullable(Type.String()),
    trust: Nullable(Signers),
    sequence: Nullable(Type.Integer({ description: 'The desired bundle’s; a new host accepts no lower one.' })),
    command: Type.String({ description: "The installer's call, without any credential in it." }),
  },
  { title: 'InstallKit' },
);
export type InstallKit = Static<typeof InstallKit>;

/** A host to add, and whether the lines that add it may ask questions. */
export const NewHostCode = Body({
  env: EnvName,
  name: Type.String({
    pattern: '^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$',
    description: 'Names the host in the environment; its record is created unless there is one.',
  }),
  site: Type.Optional({ ...Site, description: 'Used for a new record; default: the name.' }),
  laptop: Type.Optional(Type.Boolean()),
  unattended: Type.Optional(Type.Boolean({ description: 'The lines ask nothing.' })),
});
export type NewHostCode = Static<typeof NewHostCode>;

/** A one-time code, inside the lines that add a host. */
export const HostCode = Type.Object(
  {
    id: Uuid,
    env: EnvName,
    site: Type.String(),
    state: State,
    created: Type.Boolean({ description: 'Whether the record of the host is new.' }),
    expires_at: Timestamp,
    packages: Type.Array(Type.String(), { description: 'Packages of the agent that the service can hand out.' }),
    lines: Type.Array(Type.String(), { description: 'For a shell on the host; one of them is the code.' }),
  },
  { title: 'HostCode' },
);
export type HostCode = Static<typeof HostCode>;

const HeldHost = Type.Object(
  {
    id: Type.String(),
    site: Type.String(),
    host: Nullable(Type.String()),
    state: Type.String(),
    has_checked_in: Type.Boolean({ description: 'Whether it has checked in since the restore.' }),
    applied_sha: Nullable(Sha256),
    applied_sequence: Nullable(Type.Integer()),
    desired_sha: Nullable(Sha256),
    change: Type.Enum([...hostChanges], {
      description:
        'Effect of the release: the host applies a bundle, goes back to an older one, runs one that the store does not know, is taken down, is locked, or does not change.',
    }),
  },
  { title: 'HeldHost' },
);
export type HeldHost = Static<typeof HeldHost>;

const HeldEnv = Type.Object(
  {
    env: EnvName,
    held_since: Timestamp,
    desired_sha: Nullable(Sha256),
    desired_sequence: Nullable(Type.Integer()),
    silent: Type.Integer({ description: 'Hosts that have not checked in since the restore.' }),
    changes: Type.Object(Object.fromEntries(hostChanges.map((change) => [change, Type.Integer()])), {
      description: 'Number of hosts by the effect of the release.',
    }),
    hosts: Type.Array(HeldHost, { description: 'At most 200; those with a change come first.' }),
  },
  { title: 'HeldEnv' },
);
export type HeldEnv = Static<typeof HeldEnv>;

const UnknownArchive = Type.Object(
  {
    sha256: Sha256,
    stored_at: Timestamp,
    env: Nullable(Type.String({ description: 'Null if its manifest cannot be read.' })),
    name: Nullable(Type.String()),
    version: Nullable(Type.String()),
    sequence: Nullable(Type.Integer()),
  },
  { title: 'UnknownArchive' },
);
export type UnknownArchive = Static<typeof UnknownArchive>;

/** Environments that a restore holds, and archives that the restored store does not know. */
export const RestoreReview = Type.Object(
  {
    envs: Type.Array(HeldEnv),
    archives: Type.Array(UnknownArchive, { description: 'At most 200, newest first.' }),
    more_archives: Type.Integer({ description: 'Number of further archives.' }),
  },
  { title: 'RestoreReview' },
);
export type RestoreReview = Static<typeof RestoreReview>;

/** The desired bundle that the caller has reviewed. */
export const Release = Body({ desired_sha: Nullable(Sha256) });
