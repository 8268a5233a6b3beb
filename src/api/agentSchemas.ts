import { type Static, Type } from 'typebox';
import { permitKeys, type Permits, policyBounds } from './hostPolicy.rules.ts';
import { signatureLimits } from './trust.rules.ts';
import { EnvName, Nullable, Sha256, SwarmId, Timestamp } from './commonSchemas.ts';

/** Key of a report, which the agent makes. */
const ReportId = Type.String({ pattern: '^[\\w-]{1,64}$' });

const maximum = Number.MAX_SAFE_INTEGER;
/** From a signed number of 32 bits to an unsigned one. */
const exitCodes = { minimum: -(2 ** 31), maximum: 2 ** 32 - 1 };

/** A container of a host. */
export const Container = Type.Object(
  {
    service: Type.String(),
    name: Type.String(),
    state: Type.String(),
    health: Nullable(Type.String()),
    exit_code: Nullable(Type.Integer(exitCodes)),
  },
  { title: 'Container' },
);

const { entries: maxItems, characters: maxLength } = policyBounds;
const Entries = Type.Array(Type.String({ maxLength }), { maxItems });

const HostPolicy = Type.Object(
  {
    limits: Type.Object({
      bundle_bytes: Type.Integer({ minimum: 1, maximum }),
      unpacked_bytes: Type.Integer({ minimum: 1, maximum }),
      bundle_entries: Type.Integer({ minimum: 1, maximum }),
    }),
    permit: Type.Optional(
      Type.Unsafe<Partial<Permits>>(
        Type.Object(Object.fromEntries(permitKeys.map((key) => [key, Type.Optional(Entries)])), {
          description: 'Privileges that this host permits bundles without allow_privileged.',
        }),
      ),
    ),
    deny: Type.Optional(
      Type.Immutable(
        Type.Array(Type.String({ maxLength }), {
          maxItems,
          description: 'Privileges that no flag of a bundle obtains on this host.',
        }),
      ),
    ),
    images: Type.Optional(Type.String({ maxLength, description: '`digest`: this host requires images by digest.' })),
  },
  {
    title: 'HostPolicy',
    description: 'Policy of the host for bundles; a push reports the hosts that would refuse it.',
  },
);

/** A hold as hosts report it; an agent allows 200 characters as its reason, and as the name. */
export const Hold = Type.Object(
  {
    until: Timestamp,
    reason: Nullable(Type.String({ maxLength: 1000 })),
    since: Type.Optional(Timestamp),
    by: Type.Optional(
      Type.String({
        maxLength: 1000,
        description: 'Login name of the user who created the hold, as the host reports it; not verified.',
      }),
    ),
  },
  {
    title: 'Hold',
    description: 'Nothing is applied, healed or taken down on the host until this time, unless the hold ends earlier.',
  },
);

/** The reason why the changes of a host are deferred. */
export const deferringFacts = {
  hold: Type.Optional(Hold),
  window_opens_at: Type.Optional({
    ...Timestamp,
    description: 'While all windows of the host are closed: when the next one opens.',
  }),
};

const SignerName = Type.String({ maxLength: 600 });
const Signers = Type.Object(
  {
    threshold: Type.Integer({ minimum: 1, maximum, description: 'How many different signers must have signed.' }),
    keys: Type.Array(SignerName, { maxItems, description: 'Fingerprints of the usable keys: `key SHA256:…`.' }),
    identities: Type.Array(SignerName, { maxItems, description: 'Subject and issuer of keyless signers.' }),
    root: Nullable(Sha256),
  },
  { title: 'Signers' },
);

/** The signers that a host trusts; `images` contains the signers of all rules. */
const EnforcedTrust = Type.Object(
  { bundles: Nullable(Signers), images: Nullable(Signers) },
  { title: 'EnforcedTrust', description: 'The signers that the host requires; null: it requires no signatures.' },
);
export type EnforcedTrust = Static<typeof EnforcedTrust>;

/** Settings that a host enforces by itself, beside its policy. */
export const enforced = {
  trust: Type.Optional(EnforcedTrust),
  windows: Type.Optional(Type.Array(Type.String({ maxLength }), { maxItems, description: 'Its maintenance windows.' })),
};

export const Violation = Type.Object(
  {
    by: Type.Enum(['trust', 'policy'], { description: 'The key of config.yaml that it violates.' }),
    service: Nullable(Type.String({ description: 'Null for the whole bundle.' })),
    detail: Type.String(),
    code: Type.Optional(Type.String({ description: 'The code with which a new bundle would be refused.' })),
    permit: Type.Optional(Type.String({ description: 'The entry of `policy.permit` that would allow it.' })),
  },
  {
    title: 'Violation',
    description: 'Something that runs on a host, and that its trust or its policy no longer allows.',
  },
);
export type Violation = Static<typeof Violation>;

/** Parts of the applied release that settings of the host no longer allow. */
export const violations = Type.Optional(Type.Array(Violation, { maxItems }));

/** The swarm that a host is a manager of. */
export const Swarm = Type.Object(
  {
    id: SwarmId,
    node: SwarmId,
    leader: Type.Boolean({ description: 'Whether the node leads: its agent acts for the other managers.' }),
  },
  { title: 'Swarm', description: 'The swarm that the host is a manager of, and which node of it.' },
);

/** The machine of a host and its boot: two running copies of a host differ in one of them. */
export const machineAndBoot = {
  machine: Type.Optional(
    Type.String({
      pattern: '^[0-9a-f]{64}$',
      description: 'SHA-256 of `deployd:` and /etc/machine-id. Cloned images may share it.',
    }),
  ),
  boot: Type.Optional(
    Type.String({ pattern: '^[0-9a-f-]{32,36}$', description: 'Id of the boot of its kernel; new at each boot.' }),
  ),
};

/** Request of a check-in. Unknown fields of agents are ignored, and not kept. */
export const CheckIn = Type.Object(
  {
    agent: Type.Object({
      version: Type.String(),
      transport: Type.Enum(['sdk', 'proxy', 'system']),
      laptop_mode: Type.Boolean(),
      interval_s: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 86_400,
          description: 'Seconds between two ticks. A host that misses three of them has an unknown health.',
        }),
      ),
    }),
    env: EnvName,
    site: Type.String(),
    host: Type.Object({ name: Type.String(), arch: Type.String(), os: Type.String(), ...machineAndBoot }),
    applied_sha: Nullable(Sha256),
    highest_sequence: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: Number.MAX_SAFE_INTEGER,
        description: 'Highest sequence that the host has applied in its environment. It rejects bundles below it.',
      }),
    ),
    healthy: Type.Boolean(),
    containers: Type.Array(Container),
    ...deferringFacts,
    policy: Type.Optional(HostPolicy),
    ...enforced,
    violations,
    swarm: Type.Optional(Swarm),
  },
  { title: 'CheckIn' },
);
export type CheckIn = Static<typeof CheckIn>;

/** Answer to a check-in. */
export const Orders = Type.Object(
  {
    action: Type.Enum(['apply', 'none', 'down']),
    env: EnvName,
    backend_id: Type.String(),
    production: Type.Boolean(),
    desired_sha: Nullable(Sha256),
    bundle: Type.Optional(
      Type.Object(
        {
          sha256: Sha256,
          size_bytes: Type.Integer({ minimum: 0 }),
          emergency: Type.Optional(
            Type.Boolean({ description: 'As its manifest says; hosts that permit it do not wait for a window.' }),
          ),
        },
        { description: 'With apply; its digest is desired_sha.' },
      ),
    ),
    purge_volumes: Type.Optional(Type.Boolean()),
  },
  { title: 'Orders' },
);

/** Request of a lease. */
export const LeaseRequest = Type.Object({ purpose: Type.Enum(['apply', 'renew']) }, { title: 'LeaseRequest' });
export type LeaseRequest = Static<typeof LeaseRequest>;

/** Answer to the request of a lease. */
export const LeaseAnswer = Type.Object(
  {
    lease: Type.Object({
      method: Type.Literal('jwt'),
      mount: Type.String(),
      role: Type.String(),
      jwt: Type.String(),
      expires_at: Timestamp,
    }),
  },
  { title: 'LeaseAnswer' },
);

/** How an apply replaced the containers of a service, or left them, and why. */
const ServiceReplacement = Type.Object(
  {
    service: Type.String(),
    order: Type.Enum(['start-first', 'stop-first', 'not replaced']),
    why: Type.String(),
  },
  { title: 'ServiceReplacement' },
);
export type ServiceReplacement = Static<typeof ServiceReplacement>;

/** Report about one tick. */
export const Report = Type.Object(
  {
    report_id: ReportId,
    tick_id: Type.String(),
    env: EnvName,
    site: Type.String(),
    agent_version: Type.String(),
    outcome: Type.Enum(['heartbeat', 'unhealthy', 'applied', 'refused', 'failed', 'down']),
    reason: Type.String(),
    action: Type.Enum(['apply', 'none', 'down']),
    desired_sha: Nullable(Sha256),
    applied_sha: Nullable(Sha256),
    reverted: Type.Boolean(),
    code: Nullable(Type.String()),
    detail: Nullable(Type.String()),
    output_tail: Nullable(Type.String()),
    containers: Type.Array(Container),
    /** The services that had containers before the apply; absent if it replaced none, and from agents before 0.2.0. */
    replaced: Type.Optional(Type.Array(ServiceReplacement)),
    started_at: Timestamp,
    finished_at: Timestamp,
    durations_ms: Type.Record(Type.String(), Type.Number({ minimum: -maximum, maximum })),
  },
  { title: 'Report' },
);
export type Report = Static<typeof Report>;

/** Name of a bundle in a URL. */
export const BundleParams = Type.Object({ sha: Sha256 });
/** Conditions of a download. */
export const BundleHeaders = Type.Object({
  range: Type.Optional(Type.String({ description: 'One byte range; others are answered with the whole bundle.' })),
  'if-range': Type.Optional(Type.String({ description: 'The ETag of the part that the caller has.' })),
  'if-none-match': Type.Optional(Type.String({ description: 'The ETag of the bundle that the caller has.' })),
});

/** A Sigstore bundle of version 0.3, in which a statement about a bundle is signed. */
export const Signature = Type.Object({}, { additionalProperties: true, title: 'Signature' });

/** The signatures of a bundle. */
export const Signatures = Type.Array(Signature, { maxItems: signatureLimits.count });
