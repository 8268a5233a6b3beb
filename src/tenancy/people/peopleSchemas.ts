import { type Static, Type } from 'typebox';
import { Body, EnvName, Limit, Line, Nullable, patterns, Timestamp, Uuid } from '../../api/commonSchemas.ts';

/** The URL parameter that names an operator. */
export const OperatorParams = Type.Object({ id: Uuid });

/** Role of a token or a person. */
const Role = Type.Enum(['viewer', 'deployer', 'admin']);
const Envs = Nullable(
  Type.Array(EnvName, {
    minItems: 1,
    maxItems: 100,
    description: 'Environments to which the role is limited; null for all.',
  }),
);
const fields = { name: Type.String(), role: Role, envs: Envs };
/** Names are compared by people, and many other characters look like ASCII. */
const OperatorName = Type.String({ minLength: 1, maxLength: 128, pattern: patterns.ascii });
const operator = {
  id: Uuid,
  ...fields,
  display_name: Nullable(Type.String()),
  expires_at: Nullable(Timestamp),
  break_glass: Type.Boolean({ description: 'Kept for emergencies: each call by it is in the audit log.' }),
};

const Permissions = Type.Array(Type.Object({ role: Role, envs: Envs }, { title: 'Permission' }), {
  description: 'Any one of them permits a call.',
});

/** The caller; its role is the one that it has at least in every one of its environments. */
export const Caller = Type.Object({ ...fields, permissions: Permissions }, { title: 'Caller' });
export type Caller = Static<typeof Caller>;
/** An operator with a valid token. */
export const Operator = Type.Object(
  { ...operator, created_at: Timestamp, last_used_at: Nullable(Timestamp) },
  { title: 'Operator' },
);
export type Operator = Static<typeof Operator>;
/** Operators with valid tokens. */
export const OperatorList = Type.Object({ operators: Type.Array(Operator) }, { title: 'OperatorList' });
export type OperatorList = Static<typeof OperatorList>;
/** A new operator. */
export const NewOperator = Body({
  name: OperatorName,
  display_name: Type.Optional({ ...Line, description: 'Shown beside the name; any characters.' }),
  role: Role,
  envs: Envs,
  lifetime_s: Type.Optional(
    Type.Integer({ minimum: 60, maximum: 315_360_000, description: 'After which the token ends; without it, never.' }),
  ),
  break_glass: Type.Optional(Type.Boolean({ default: false })),
});
/** A new operator with its token, which is not shown again. */
export const CreatedOperator = Type.Object({ ...operator, token: Type.String() }, { title: 'CreatedOperator' });
export type CreatedOperator = Static<typeof CreatedOperator>;

const Id = Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

/** An entry of the audit log. */
export const AuditEntry = Type.Object(
  {
    id: Id,
    at: Timestamp,
    actor: Type.String(),
    act: Type.String(),
    target: Type.String(),
    env: Nullable(Type.String()),
    address: Nullable(Type.String()),
    request_id: Nullable(Type.String()),
    result: Type.String({
      description: 'ok, or the code of the error; started before an action at a peer, whose result follows.',
    }),
    count: Type.Integer({
      minimum: 1,
      maximum: 2_147_483_647,
      description: 'Number of calls: refused calls of one caller, act and result within a minute are one entry.',
    }),
    before: Nullable(Type.String({ description: 'Replaced value, as text; null for acts that replace nothing.' })),
    after: Nullable(Type.String({ description: 'New value, as text.' })),
  },
  { title: 'AuditEntry' },
);
export type AuditEntry = Static<typeof AuditEntry>;

/** A page of the audit log, newest first. */
export const AuditLog = Type.Object(
  {
    entries: Type.Array(AuditEntry),
    next: Nullable(Id),
  },
  { title: 'AuditLog' },
);
export type AuditLog = Static<typeof AuditLog>;
/** Longer than any action name and any actor name. */
const Exactly = Type.String({ minLength: 1, maxLength: 512, pattern: patterns.line });
/** Filters of the audit log. */
export const AuditQuery = Body({
  env: Type.Optional(EnvName),
  act: Type.Optional({ ...Exactly, description: 'Only this action.' }),
  actor: Type.Optional({ ...Exactly, description: 'Only actions by this name.' }),
  target: Type.Optional({ ...Exactly, description: 'Only actions on this object, such as the id of a host.' }),
  before: Type.Optional(Id),
  after: Type.Optional({
    ...Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
    description: 'Only entries with a higher id, oldest first, without the entries of the last two minutes.',
  }),
  limit: Limit,
});

/** The URL parameter that names a session. */
export const SessionParams = Type.Object({ id: Uuid });

/** An active session. */
export const Session = Type.Object(
  {
    id: Uuid,
    name: Type.String({ description: 'As in the audit log; not unique.' }),
    method: Type.Enum(['openid', 'token'], { description: 'How it began.' }),
    subject: Type.String({
      description: 'The id of the person at the OpenID provider, or of the operator of the token.',
    }),
    role: Nullable(Role),
    envs: Nullable(Type.Array(EnvName, { description: 'Null for all; none where the groups have no role.' })),
    address: Type.String(),
    created_at: Timestamp,
    last_used_at: Timestamp,
    expires_at: Timestamp,
    current: Type.Boolean({ description: 'Whether it is the session of this call.' }),
  },
  { title: 'Session' },
);
export type Session = Static<typeof Session>;

/** Active sessions. */
export const SessionList = Type.Object(
  {
    sessions: Type.Array(Session),
  },
  { title: 'SessionList' },
);
export type SessionList = Static<typeof SessionList>;
