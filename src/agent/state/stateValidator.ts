import { type Static, Type } from 'typebox';
import { Constant, Nullable, Sha256, Values } from '../../api/commonSchemas.ts';
import { Violation } from '../../api/agentSchemas.ts';
import type { Report } from '../../api/checkIn.rules.ts';
import { schemaCompiler } from '../../core/compileSchema.ts';

const Text = Type.String();
const Time = Type.String({ format: 'time' });
const Names = Type.Array(Text);
const SomeNames = Type.Immutable(Names);
const Count = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** A bundle that failed after its promotion: how often, and when it may be retried (RFC 3339, UTC). */
const Failing = Nullable(
  Type.Object({
    sha: Sha256,
    count: Count,
    retry_at: Time,
    /** Journal line of the last failure, repeated during the backoff. */
    line: Text,
  }),
);

/** The token's entry, which never contains the token. */
const Token = Type.Object({
  /** Null when unknown. */
  expires_at: Nullable(Time),
  renewable: Type.Boolean(),
  /** Lifetime at its creation, in seconds; null when unknown. */
  creation_ttl_s: Nullable(Type.Number()),
  /** Error of the last renewal, null without one. */
  trouble: Nullable(Text),
  /** Why the bootstrap grant on disk is not used; absent if no grant is refused. */
  grant_refused: Type.Optional(Text),
});

/** The recorded heals of one service. */
const Healing = Type.Object({
  /** Number of ticks in a row that found it failed, each after a heal on the previous tick. */
  row: Count,
  /** Whether the last tick tried to heal it. */
  healed: Type.Boolean(),
  /** Heals since it was last healthy for long. */
  heals: Count,
  /** When it was last found failed. */
  at: Time,
  /** When the next heal is due; null: at once. */
  retry_at: Nullable(Time),
  /** The last counted number of restarts of this container by the engine, and the time. */
  restarts: Type.Optional(Type.Object({ id: Text, count: Count, at: Time })),
});

/** Check-in times, for later ticks; RFC 3339, UTC. Unparsable times are ignored. */
interface CheckInBackoff {
  due_at: string | null;
  /** No check-in is sent before this time. */
  alone_until: string | null;
}

/** The trust root by which identities were verified, by the ids of its parts. */
const VerifiedRoot = Type.Immutable(Type.Object({ at: Time, parts: SomeNames }));

/** An image of a service that was signed by a trusted signer. */
const VerifiedImage = Type.Object({
  service: Text,
  /** Its reference as written in the bundle, with the digest. */
  image: Text,
  /** `sha256:…` of its manifest, or of its index for a multi-architecture image. */
  digest: Text,
  /** `registry/path`; absent if it contains a secret. */
  repository: Type.Optional(Text),
  /** The repository that its signatures had to name, if a rule names it; null for any. */
  signed_as: Type.Optional(Nullable(Text)),
  signers: SomeNames,
  trust_root: Type.Optional(Nullable(VerifiedRoot)),
});

/** `state.json` (spec §17), the agent's memory between ticks. Times are RFC 3339 in UTC. Optional keys are absent in files of older versions. */
const stateSchema = Type.Object({
  schema: Constant(1),
  env: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,62}$' }),
  applied_sha: Nullable(Sha256),
  applied_at: Nullable(Time),
  applied_version: Nullable(Text),
  /** Highest `sequence` ever applied for this environment; a `down` keeps it. */
  highest_sequence: Count,
  /** The bundle that had it; null after `deployd trust reset`. */
  highest_sha: Type.Optional(Nullable(Sha256)),
  /** True when the last check-in or the last manifest declared this host production. */
  production: Type.Boolean(),
  last_check_in: Nullable(
    Type.Object({ at: Time, action: Type.Enum(['apply', 'none', 'down']), desired_sha: Nullable(Sha256) }),
  ),
  last_outcome: Nullable(Type.Object({ at: Time, outcome: Text, code: Nullable(Text), detail: Nullable(Text) })),
  /** The apply in progress, or one that was interrupted; until it ends, `current` is not trusted. `tries` counts failed reverts. */
  attempt: Nullable(Type.Object({ sha: Sha256, phase: Text, at: Time, tries: Type.Optional(Count) })),
  failing: Failing,
  token: Token,
  /** The report outbox: reports not delivered yet, oldest first. */
  pending_reports: Type.Array(Type.Unsafe<Report>(Type.Object({ report_id: Text }))),
  /** The signers of the applied bundle. */
  applied_signers: Type.Optional(SomeNames),
  /** The trust root that verified them; null if identities are not trusted. */
  applied_root: Type.Optional(Nullable(VerifiedRoot)),
  /** The signers of the images of the applied bundle. */
  applied_images: Type.Optional(Type.Immutable(Type.Array(VerifiedImage))),
  /** Images whose signatures were verified, newest last; `trust`: sha256 of the keys, identities, root and name. */
  trusted_images: Type.Optional(
    Type.Immutable(Type.Array(Type.Object({ digest: Text, trust: Text, signers: SomeNames }))),
  ),
  /** When the images of the applied bundle were last verified again, and by which trust. */
  images_judged: Type.Optional(Type.Object({ digest: Text, at: Time })),
  /** Hosts of registries that asked for a pause (`Retry-After`). */
  registry_pauses: Type.Optional(Type.Array(Type.Object({ host: Text, until: Time }))),
  /** Violations of the policy by the applied release, checked again when the digest of both changes. */
  judged: Type.Optional(Type.Object({ digest: Text, violations: Type.Immutable(Type.Array(Violation)) })),
  /** True when it is unknown whether this is a production environment. */
  production_unknown: Type.Optional(Type.Boolean()),
  /** Recently healed services, by name. */
  healing: Type.Optional(Type.Unsafe<Readonly<Record<string, Static<typeof Healing>>>>(Values(Healing))),
  /** The moment of the last check-in on a clock that cannot be set. */
  check_in_clock: Type.Optional(Type.Object({ at: Time, boot: Text, uptime_s: Type.Number({ minimum: 0 }) })),
  pace: Type.Optional(Type.Unsafe<CheckInBackoff>({})),
  /**
   * Volumes that were found lost since the last apply, until an operator accepts it; `recreated`: another volume has
   * its name.
   */
  lost_volumes: Type.Optional(
    Type.Array(
      Type.Object({
        name: Text,
        how: Type.Enum(['lost', 'recreated']),
        /** The services that mounted it, sorted. */
        services: Names,
        at: Time,
      }),
    ),
  ),
  /** Anonymous volumes of removed releases, and their mount paths. Absent while there are no such volumes. */
  left_volumes: Type.Optional(Type.Array(Type.Object({ name: Text, service: Text, target: Text }))),
  /** The facts for a failure soon after the apply: the previous release, and the failures before the apply. */
  trial: Type.Optional(
    Nullable(
      Type.Object({
        /** The applied bundle. */
        sha: Sha256,
        /** The release that it replaced; null for the first one. */
        previous: Nullable(Sha256),
        failing: Failing,
      }),
    ),
  ),
  /** Start of the current period without a successful check-in. */
  offline_since: Type.Optional(Nullable(Time)),
  /** A revert that has ended unfinished, until a release is applied again. */
  unreverted: Type.Optional(
    Nullable(
      Type.Object({
        /** The bundle to revert. */
        sha: Sha256,
        /** How often the applied release could not be started again. */
        tries: Count,
        /** Why the last try failed, and its code. */
        line: Text,
        code: Nullable(Text),
        /** When the applied release is started again, unless one of its services is healed earlier. */
        retry_at: Time,
      }),
    ),
  ),
  /** Resources of the project before the attempts since the last success; those attempts created all others (spec §12.11). */
  baseline: Type.Optional(
    Nullable(
      Type.Object({
        /** The bundle of the latest attempt. */
        sha: Sha256,
        /** Null when no volume may be removed: a production environment, or one whose production status is unknown. */
        volumes: Nullable(Names),
        networks: Names,
      }),
    ),
  ),
  /** The swarm that this host was last seen in, and its node. */
  swarm: Type.Optional(Nullable(Type.Object({ id: Text, node: Text }))),
  /** Resources that a `down` could not remove, and the time of the first try (spec §7.5). */
  purge_pending: Type.Optional(Nullable(Type.Object({ since: Time, volumes: Names, networks: Names }))),
});

export type State = Static<typeof stateSchema>;

const compile = schemaCompiler({ split: ['array', 'object'] });

/** Validates a value as a state; `parseState` has compared its `schema` before. */
export const validate = compile(stateSchema);
