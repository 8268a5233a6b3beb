import { type Static, Type } from 'typebox';
import { haltReasons } from '../../../machines/rollout.ts';
import { rolloutBounds } from '../../api/rolloutPlan.rules.ts';
import { weekdays, windowBounds } from '../../api/timeWindow.rules.ts';
import { Bundle } from '../bundles/bundleSchemas.ts';
import { overrideRollout, promotionConditions } from '../envs/envSchemas.ts';
import { Body, Deferral, EnvName, Labels, Limit, Nullable, Sha256, Timestamp, Uuid } from '../../api/commonSchemas.ts';

const window = {
  days: Type.Immutable(
    Type.Array(Type.Enum([...weekdays]), { minItems: 1, maxItems: 7, description: 'Days on which it opens.' }),
  ),
  start: Type.String({ pattern: windowBounds.start, description: 'When it opens, such as 08:30.' }),
  minutes: Type.Integer({ minimum: 1, maximum: windowBounds.minutes, description: 'How long it is open.' }),
  time_zone: Type.String({ maxLength: windowBounds.zone, description: 'Such as Europe/Berlin.' }),
};
const Gate = Type.Enum(['none', 'manual', 'webhook']);

const NewWave = Body({
  count: Type.Optional(
    Type.Integer({ minimum: 1, maximum: rolloutBounds.hosts, description: 'Maximum number of hosts.' }),
  ),
  percent: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description: 'Percentage of the hosts with these labels, including hosts of earlier waves; rounded up.',
    }),
  ),
  labels: Type.Optional(Labels),
});

/**
 * A rollout to start. A wave without a number takes all hosts with its labels; the last wave takes all remaining hosts.
 */
export const NewRollout = Body({
  sha256: Sha256,
  ...promotionConditions,
  waves: Type.Array(NewWave, { maxItems: rolloutBounds.waves }),
  max_failures: Type.Integer({ minimum: 0, maximum: rolloutBounds.hosts }),
  soak_s: Type.Integer({ minimum: 0, maximum: rolloutBounds.soakSeconds }),
  deadline_s: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: rolloutBounds.deadlineSeconds,
      description: 'Seconds in which a wave must be verified; otherwise the rollout is halted.',
    }),
  ),
  gate: Gate,
  gate_webhook: Type.Optional({ ...Uuid, description: 'The webhook that decides the gate.' }),
  windows: Type.Array(Body(window), { maxItems: windowBounds.windows }),
  draw: Type.Optional({
    ...Uuid,
    description: 'The draw of a preview: the waves take its hosts, if they are still there.',
  }),
});
export type NewRollout = Static<typeof NewRollout>;

const { waves, max_failures, soak_s, deadline_s, gate, gate_webhook, windows, draw } = NewRollout.properties;
const plan = { waves, max_failures, soak_s, deadline_s, gate, gate_webhook, windows, draw };

/** A return to an earlier bundle. */
export const NewRollback = Body({
  sha256: Type.Optional({
    ...Sha256,
    description: 'The earlier bundle; by default the one that was desired before, or before the rollout it overrides.',
  }),
  with_secrets: Type.Optional(
    Type.Boolean({ description: 'Keep the versions of secrets that the earlier bundle pins, not the deployed ones.' }),
  ),
  plan: Type.Optional({ ...Body(plan), description: 'Roll it out in waves; by default all hosts get it at once.' }),
  ...promotionConditions,
  ...overrideRollout,
});
export type NewRollback = Static<typeof NewRollback>;

/** The waves of a rollout to preview. */
export const PreviewedRollout = Body({
  sha256: Sha256,
  waves: NewRollout.properties.waves,
  draw: Type.Optional({ ...Uuid, description: 'The draw of an earlier preview; a new one by default.' }),
});

/** Changes to a rollout that runs; missing fields stay as they are. */
export const RolloutEdit = Body({
  waves: Type.Optional({ ...NewRollout.properties.waves, description: 'Replace the waves that have not started.' }),
  max_failures: Type.Optional(NewRollout.properties.max_failures),
  soak_s: Type.Optional(NewRollout.properties.soak_s),
  deadline_s: NewRollout.properties.deadline_s,
});
export type RolloutEdit = Static<typeof RolloutEdit>;
/** The host that a rollout skips. */
export const SkippedHost = Body({ backend: Uuid });

const hosts = {
  hosts: Type.Integer({ description: 'Hosts in this wave.' }),
  waiting: Type.Integer(),
  succeeded: Type.Integer(),
  failed: Type.Integer(),
  excused: Type.Integer({ description: 'Hosts that had failed when the rollout was resumed, or were skipped.' }),
  offline: Type.Integer({ description: 'Servers that fell silent after the wave started; counted as failures.' }),
  absent: Type.Integer({ description: 'Servers that have been silent since before the wave; not counted.' }),
  verified: Type.Integer({ description: 'Succeeded hosts that were seen recently enough for the wave to pass.' }),
  asleep: Type.Integer({ description: 'Laptops that have not checked in.' }),
};
const RolloutWave = Type.Object(
  {
    count: Nullable(Type.Integer()),
    percent: Nullable(Type.Integer()),
    labels: Type.Record(Type.String(), Type.String()),
    ...hosts,
  },
  { title: 'RolloutWave' },
);

const named = {
  id: Uuid,
  host_name: Nullable(Type.String({ description: 'As its host reports it, not unique; null before that.' })),
  site: Type.String(),
};
const NamedHost = Type.Object(named, { title: 'NamedHost' });

/** The hosts that the waves of a rollout would take now. */
export const RolloutPreview = Type.Object(
  {
    draw: { ...Uuid, description: 'A rollout that starts with this draw takes the same hosts.' },
    labels: Type.Array(Type.String(), { description: 'Labels of the hosts, such as ring=canary; the first hundred.' }),
    waves: Type.Array(
      Type.Object(
        { hosts: Type.Integer(), named: Type.Array(NamedHost, { description: 'The first twenty hosts.' }) },
        { title: 'PreviewedWave' },
      ),
    ),
  },
  { title: 'RolloutPreview' },
);
export type RolloutPreview = Static<typeof RolloutPreview>;

/** A rollout. */
export const Rollout = Type.Object(
  {
    id: Uuid,
    env: EnvName,
    sha256: Sha256,
    previous_sha: Nullable(Sha256),
    state: Type.Enum(['pending', 'updating', 'soaking', 'gated', 'halted', 'done', 'aborted']),
    state_since: Timestamp,
    halted_by: Nullable(Type.Enum([...haltReasons])),
    next_start_at: Nullable(Timestamp),
    started: Type.Integer({ description: 'Number of waves that have started.' }),
    waves: Type.Array(RolloutWave),
    remaining: Type.Integer({ description: 'Hosts whose wave has not started yet.' }),
    failed_hosts: Type.Array(NamedHost, { description: 'The first ten hosts that count as failed, by id.' }),
    awaited_hosts: Type.Array(NamedHost, { description: 'The first ten hosts that the current wave waits for.' }),
    max_failures: Type.Integer(),
    soak_s: Type.Integer(),
    deadline_s: Nullable(Type.Integer({ description: 'Null for the default.' })),
    gate: Gate,
    gate_webhook: Nullable(Uuid),
    gate_reason: Nullable(
      Type.String({ description: "The last response of the gate's webhook, or why the call failed." }),
    ),
    windows: Type.Array(Type.Object(window, { title: 'StartWindow' })),
    created_at: Timestamp,
    created_by: Type.String(),
  },
  { title: 'Rollout' },
);
export type Rollout = Static<typeof Rollout>;

/** A return to an earlier bundle: the new bundle with its content. */
export const Rollback = Type.Object(
  {
    bundle: Bundle,
    from: { ...Sha256, description: 'The earlier bundle.' },
    missing: Nullable(
      Type.Object(
        { required: Type.Integer(), signers: Type.Array(Type.String()) },
        { description: 'The signatures that hosts require before it can be promoted; null if it is not to be signed.' },
      ),
    ),
    rollout: Nullable(Rollout),
    denying: Type.Integer({
      description: 'Number of hosts that run newer content and whose policy denies rollbacks: they keep their bundle.',
    }),
    denying_hosts: Type.Array(NamedHost, { description: 'The first hundred of them, by id.' }),
  },
  { title: 'Rollback' },
);
export type Rollback = Static<typeof Rollback>;

/** Rollouts, newest first. */
export const RolloutList = Type.Object({ rollouts: Type.Array(Rollout) }, { title: 'RolloutList' });
export type RolloutList = Static<typeof RolloutList>;
const hostStatuses = ['waiting', 'succeeded', 'failed', 'excused', 'offline', 'absent', 'asleep', 'planned'] as const;

/** The hosts of a rollout, by wave and site; hosts of a wave that has not started are planned. */
export const RolloutHosts = Type.Object(
  {
    hosts: Type.Array(
      Type.Object(
        {
          ...named,
          wave: Type.Integer({ description: 'From 1.' }),
          status: Type.Enum([...hostStatuses]),
          last_seen_at: Nullable(Timestamp),
          deferred_by: Nullable({ ...Deferral, description: 'Why the host defers work.' }),
        },
        { title: 'RolloutHost' },
      ),
    ),
  },
  { title: 'RolloutHosts' },
);
export type RolloutHosts = Static<typeof RolloutHosts>;

/** Hosts to list: of all waves by default. */
export const RolloutHostsQuery = Body({
  wave: Type.Optional(Type.Integer({ minimum: 1, maximum: rolloutBounds.waves + 1 })),
  limit: Limit,
});

/** Number of rollouts in a list. */
export const RolloutQuery = Body({ limit: Limit });
/** The gate to pass: the number of the wave that has succeeded, from 1. */
export const GatePass = Body({ wave: Type.Integer({ minimum: 1, maximum: rolloutBounds.waves + 1 }) });
