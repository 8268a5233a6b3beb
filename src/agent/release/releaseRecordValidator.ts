import { type Static, type TSchema, Type } from 'typebox';
import { Constant, Nullable, Sha256, Values } from '../../api/commonSchemas.ts';
import { schemaCompiler } from '../../core/compileSchema.ts';
import type { StartFirst } from '../../bundle/plan/startFirst.rules.ts';
import type { Hook, OneShot, ServiceEdges, ServiceFacts } from './services.rules.ts';

const Name = Type.String();
const Names = Type.Array(Name);
const Count = Type.Integer({ minimum: 0 });

/** A read-only list. */
function List<Schema extends TSchema>(schema: Schema) {
  return Type.Immutable(Type.Array(schema));
}

/** The trust root by which identities were verified, by the ids of its parts. */
const VerifiedRoot = Type.Object({ at: Name, parts: List(Name) });

/** A service that runs. Kinds, conditions and parts are not listed, so that records of newer versions are read. */
const Service = Type.Object({
  name: Name,
  replicas: Count,
  kind: Type.Optional(Type.Unsafe<NonNullable<ServiceFacts['kind']>>(Name)),
  job_by: Type.Optional(Type.Unsafe<NonNullable<ServiceFacts['job_by']>>(Name)),
  demand_s: Type.Optional(Type.Number({ minimum: 0 })),
  after: Type.Optional(Type.Unsafe<ServiceFacts['after']>(Type.Array(Type.Object({ name: Name, condition: Name })))),
  joins: Type.Optional(Type.Unsafe<ServiceEdges['joins']>(Type.Array(Type.Object({ service: Name, part: Name })))),
  restarts_with: Type.Optional(Names),
  /** Present for a service that is replaced start-first. */
  start_first: Type.Optional(
    Type.Unsafe<StartFirst>(
      Type.Object({ replicas: Count, parallelism: Count, delay_s: Type.Number(), monitor_s: Type.Number() }),
    ),
  ),
});

/** A container of a release. Its parameters cannot change under one id, except for its networks and its name. */
const Container = Type.Object({
  id: Name,
  service: Name,
  /** Id of its image. */
  image: Name,
  /** Names of its networks, sorted. */
  networks: List(Name),
  /** Its volumes, including anonymous ones. */
  volumes: List(Type.Object({ name: Name, target: Name })),
  /** Its number among the replicas of the service, as compose counts. */
  number: Name,
  /** True while the agent has started it, or is about to, and has not run its `post_start`. */
  post_start_due: Type.Optional(Type.Boolean()),
});

/** The record of a release in `.deployd.json`, from which the state can be rebuilt without the bundle. Optional keys are absent in records of older versions. */
const recordSchema = Type.Object({
  schema: Constant(1),
  sha: Sha256,
  version: Name,
  sequence: Type.Integer(),
  production: Type.Boolean(),
  services: Type.Array(Service),
  /**
   * Image references of the release, and the id of each image when the release was applied. A reference that contains a
   * secret is replaced by the image's id. The digest, `sha256:…`, is the one by which the registry of the reference
   * identifies the image: null if the engine has no digest.
   */
  images: Type.Array(Type.Object({ reference: Name, id: Nullable(Name), digest: Type.Optional(Nullable(Name)) })),
  /** Paths of the compose files in the release. */
  compose: Names,
  /** The chosen profiles; absent without profiles. */
  profiles: Type.Optional(Names),
  /** Variables of the bundle that are not secrets. */
  variables: Type.Optional(Values(Name)),
  /** The signers of the bundle. */
  signers: Type.Optional(List(Name)),
  /** The trust root that verified them; null if identities are not trusted. */
  trust_root: Type.Optional(Nullable(VerifiedRoot)),
  /** Images whose signatures were verified. */
  verified_images: Type.Optional(
    List(
      Type.Object({
        service: Name,
        image: Name,
        digest: Name,
        repository: Type.Optional(Name),
        signed_as: Type.Optional(Nullable(Name)),
        signers: List(Name),
        trust_root: Type.Optional(Nullable(VerifiedRoot)),
      }),
    ),
  ),
  /** One-shots that finished in this release, or unchanged in the previous one. */
  jobs: Type.Optional(
    Type.Unsafe<OneShot[]>(Type.Array(Type.Object({ service: Name, fingerprint: Name, image: Name, volumes: Names }))),
  ),
  /** The services that have hooks, which are hidden from compose. Absent in a record of an older version. */
  hooks: Type.Optional(Values(Type.Unsafe<Hook[]>(Names))),
  /** Paths of the bundle that containers may write to. */
  writable: Type.Optional(List(Name)),
  /**
   * Services of kind `once` that ended with 0 after the release was applied. Absent while there are no such services.
   */
  ended: Type.Optional(List(Name)),
  /** Identifies the `.env` that the agent wrote, by its size and a keyed digest: a plain one would allow to guess the values. */
  env: Type.Optional(Type.Object({ bytes: Count, mac: Name, key: Name })),
  /** The containers that the agent created or adopted. Absent until the release starts. */
  containers: Type.Optional(List(Container)),
  /** The volumes that these containers mount, with their creation times by the engine and by the file system. */
  volumes: Type.Optional(List(Type.Object({ name: Name, created_at: Nullable(Name), born_at: Nullable(Name) }))),
});

export type ReleaseRecord = Static<typeof recordSchema>;

const compile = schemaCompiler({ messages: false, split: ['array', 'object'] });

/** Validates a value as the record of a release. */
export const validate = compile(recordSchema);
