import { type Static, Type } from 'typebox';
import { Bundle } from '../bundles/bundleSchemas.ts';
import { maxPushedSequence } from '../../api/checkIn.rules.ts';
import { CheckIn, enforced } from '../../api/agentSchemas.ts';
import { Body, EnvName, Nullable, SecretsDestroyAt, Sha256, Timestamp, Uuid } from '../../api/commonSchemas.ts';

/** The URL parameter that names an environment. */
export const EnvParams = Type.Object({ env: EnvName });

const env = {
  name: EnvName,
  production: Type.Boolean({ description: 'Hosts never remove its volumes.' }),
  desired_sha: Nullable(Sha256),
  desired_since: Nullable({
    ...Timestamp,
    description: 'When the desired bundle was last promoted; a rollout promotes its bundle when it starts.',
  }),
  previous_sha: Nullable({
    ...Sha256,
    description: 'The bundle that was desired before, to which a rollback returns.',
  }),
  last_sequence: Type.Integer({ description: 'The highest sequence that was given to a bundle.' }),
  held_since: Nullable({
    ...Timestamp,
    description: 'When a restore of the store held it: its hosts get no orders until it is released.',
  }),
  backends: Type.Record(Type.String(), Type.Integer(), { description: 'Number of backends by state.' }),
  secrets_destroy_at: SecretsDestroyAt,
};

/** An environment. */
export const Env = Type.Object(env, { title: 'Env' });
export type Env = Static<typeof Env>;

/** Largest number of keys, and of identities, in a trust. */
const MAX_TRUSTED = 64;
const threshold = Type.Integer({
  minimum: 1,
  maximum: 2 * MAX_TRUSTED,
  description: 'How many different signers a bundle needs.',
});
const keys = Type.Array(Type.String({ maxLength: 16_384, description: 'Public key in PEM: ECDSA, Ed25519 or RSA.' }), {
  maxItems: MAX_TRUSTED,
});
const identity = {
  issuer: Type.String({ minLength: 1, maxLength: 253, description: 'URL of the OpenID provider.' }),
  subject: Type.String({ minLength: 1, maxLength: 253, description: 'E-mail address or URI.' }),
};
const root = Nullable(
  Type.Object(
    { mediaType: Type.String({ pattern: '^application/vnd\\.dev\\.sigstore\\.trustedroot' }) },
    { additionalProperties: true, title: 'TrustRoot', description: 'A Sigstore trust root, needed for identities.' },
  ),
);

const { permit, deny, images } = CheckIn.properties.policy.properties;
const { windows } = enforced;

/** The signers that the hosts of an environment trust. */
export const Signers = Type.Object(
  { threshold, keys, identities: Type.Array(Type.Object(identity)), root },
  { title: 'TrustedSigners' },
);

/** The signers that the hosts of an environment trust, and their policy and maintenance windows if recorded. */
export const Trust = Type.Object(
  {
    ...{ threshold, keys, identities: Type.Array(Type.Object(identity)), root },
    policy: Type.Optional(Type.Object({ permit, deny, images })),
    windows,
  },
  { title: 'Trust' },
);
export type Trust = Static<typeof Trust>;
/** The same fields in a request. */
export const NewTrust = Body({
  threshold,
  keys,
  identities: Type.Array(Body(identity), { maxItems: MAX_TRUSTED }),
  root,
  policy: Type.Optional({ ...Body({ permit, deny, images }), description: 'Compared with the policy of each host.' }),
  windows,
});

/** One environment. */
export const EnvDetails = Type.Object(
  {
    ...env,
    trust: Nullable(Trust),
    desired: Nullable(Bundle),
    newest: Nullable(Bundle),
  },
  { title: 'EnvDetails' },
);
export type EnvDetails = Static<typeof EnvDetails>;

const TroubleGroup = Type.Object(
  {
    env: EnvName,
    cause: Type.Enum(['failed', 'refused', 'unhealthy', 'cloned', 'locked', 'offline', 'asleep']),
    code: Nullable(Type.String({ description: 'Code of the newest report of the first host.' })),
    detail: Nullable(
      Type.String({
        description:
          'Beginning of its detail, in its words; the details of the others differ in names and numbers only.',
      }),
    ),
    output: Nullable(Type.String({ description: 'The last lines of its output.' })),
    since: { ...Timestamp, description: 'Since when the first of them has failed without interruption.' },
    count: Type.Integer(),
    hosts: Type.Array(
      Type.Object({ id: Uuid, host_name: Nullable(Type.String()), site: Type.String() }, { title: 'TroubledHost' }),
      { description: 'The first ten hosts.' },
    ),
  },
  { title: 'TroubleGroup' },
);

/** Hosts that need somebody, by environment and cause: the worst first. */
export const Trouble = Type.Object(
  {
    groups: Type.Array(TroubleGroup),
    more_groups: Type.Integer({ description: 'Groups that are not listed; environments share forty places.' }),
    more_hosts: Type.Integer({ description: 'Hosts that are in no group; environments share a thousand places.' }),
    complete: Type.Boolean({ description: 'True if both are 0.' }),
  },
  { title: 'Trouble' },
);
export type Trouble = Static<typeof Trouble>;
/** The environment to list; all that the caller may see by default. */
export const TroubleQuery = Body({ env: Type.Optional(EnvName) });

/** Environments by name. */
export const EnvList = Type.Object({ envs: Type.Array(Env) }, { title: 'EnvList' });
export type EnvList = Static<typeof EnvList>;
/** A new environment. */
export const NewEnv = Body({ name: EnvName, production: Type.Boolean() });
/** Conditions of a promotion, which the promoting transaction checks. */
export const promotionConditions = {
  if_desired: Type.Optional({
    ...Nullable(Sha256),
    description: 'The bundle that must be desired now; null for none.',
  }),
  pipeline: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      description: 'Number of the pipeline; none with a higher number may have promoted before.',
    }),
  ),
};
/** An urgent change may end the rollout of an environment. */
export const overrideRollout = {
  override_rollout: Type.Optional(
    Type.Boolean({ description: 'Abort the rollout of the environment, if it has one, instead of a refusal.' }),
  ),
};
/** The new desired bundle of an environment; null for none. */
export const Desired = Body({ sha256: Nullable(Sha256), ...promotionConditions, ...overrideRollout });
/** A reserved sequence. */
export const Sequence = Type.Object({ sequence: Type.Integer() }, { title: 'Sequence' });
/** The highest sequence that counts as used. */
export const NewSequence = Body({ sequence: Type.Integer({ minimum: 0, maximum: maxPushedSequence }) });

const EnvCounts = Type.Object(
  {
    name: EnvName,
    production: Type.Boolean(),
    desired_sha: Nullable(Sha256),
    held_since: Nullable({ ...Timestamp, description: 'When a restore of the store held it.' }),
    backends: Type.Record(Type.String(), Type.Integer(), { description: 'Number of backends by state.' }),
    behind: Type.Integer({ description: 'Hosts that do not run the desired bundle.' }),
    sick: Type.Integer({ description: 'Hosts that are unhealthy, or whose newest report is not a success.' }),
    cloned: Type.Integer({ description: 'Backends whose token two hosts use.' }),
    differing: Type.Integer({ description: 'Hosts whose settings differ from the recorded ones.' }),
    deferred: Type.Record(Type.String(), Type.Integer(), {
      description: 'Number of hosts with deferred changes, by reason.',
    }),
    rollout: Nullable(
      Type.Object(
        { id: Uuid, state: Type.String() },
        { title: 'RunningRollout', description: 'The rollout that is neither done nor aborted.' },
      ),
    ),
  },
  { title: 'EnvCounts' },
);

/** A summary of the fleet. */
export const Fleet = Type.Object(
  {
    envs: Type.Array(EnvCounts),
    agents: Type.Array(Type.Object({ version: Type.String(), hosts: Type.Integer() }, { title: 'AgentVersion' }), {
      description: 'Hosts by the version of their agent, the newest first.',
    }),
  },
  { title: 'Fleet' },
);
export type Fleet = Static<typeof Fleet>;
