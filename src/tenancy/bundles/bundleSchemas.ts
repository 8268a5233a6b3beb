import { type Static, Type } from 'typebox';
import { Signature } from '../../api/agentSchemas.ts';
import { cursorPattern } from '../core/lists.rules.ts';
import { Body, EnvName, Limit, Nullable, Sha256, Timestamp } from '../../api/commonSchemas.ts';
import { signatureStates } from './bundle.rules.ts';

/** The URL parameter that names a bundle. */
export const BundleParams = Type.Object({ sha256: Sha256 });

const bundle = {
  sha256: Sha256,
  env: EnvName,
  name: Type.String(),
  version: Type.String(),
  sequence: Type.Integer(),
  returns_to: Type.Optional(
    Type.Integer({
      description: 'Sequence of the earlier bundle whose content it deploys again; only in bundles of a rollback.',
    }),
  ),
  size_bytes: Type.Integer(),
  production: Type.Boolean(),
  allow_privileged: Type.Boolean(),
  allow_rollback: Type.Boolean(),
  emergency: Type.Boolean({ description: 'Hosts that permit it apply it outside their windows.' }),
  received_at: Timestamp,
  received_from: Type.String({ description: 'Name of the operator who pushed it, or whose call created it.' }),
  signature: Type.Enum([...signatureStates], {
    description: 'Whether the signatures satisfy the trust that its hosts have reported.',
  }),
  signers: Type.Array(Type.String(), { description: 'Signers of the bundle that its hosts trust.' }),
};

/** A bundle. */
export const Bundle = Type.Object(bundle, { title: 'Bundle' });
export type Bundle = Static<typeof Bundle>;
/** A bundle with the variables and profiles of its manifest. */
export const BundleDetails = Type.Object(
  {
    ...bundle,
    variables: Type.Record(Type.String(), Type.String(), { description: 'Values that are not secrets.' }),
    profiles: Type.Array(Type.String(), { description: 'Profiles that it activates.' }),
  },
  { title: 'BundleDetails' },
);
export type BundleDetails = Static<typeof BundleDetails>;
/** Reasons why some hosts would refuse a bundle. */
export const Warnings = Type.Array(Type.String());
/** A pushed bundle, with the reasons why some hosts would refuse it. */
export const PushedBundle = Type.Object({ ...bundle, warnings: Warnings }, { title: 'PushedBundle' });
export type PushedBundle = Static<typeof PushedBundle>;
/** The digest of the pushed archive. */
export const PushQuery = Body({ sha256: Sha256 });

/** A page of bundles, newest first. */
export const BundleList = Type.Object(
  { bundles: Type.Array(Bundle), next: Nullable(Type.String()) },
  { title: 'BundleList' },
);
export type BundleList = Static<typeof BundleList>;
/** Filters of a list of bundles; `after` is the `next` cursor of the previous page. */
export const BundleQuery = Body({
  env: Type.Optional(EnvName),
  after: Type.Optional(Type.String({ pattern: cursorPattern })),
  limit: Limit,
});

/** The environment and the first bundle of a comparison. */
export const DiffParams = Type.Object({ env: EnvName, sha256: Sha256 });
/** The second bundle of a comparison. */
export const DiffQuery = Body({ to: Sha256 });

const Difference = Type.Object(
  { key: Type.String(), before: Nullable(Type.String()), after: Nullable(Type.String()) },
  { title: 'Difference', description: 'A value that differs; null on the side that lacks it.' },
);
const Differences = Type.Array(Difference);
const PartDifferences = Type.Array(
  Type.Object(
    { name: Type.String(), change: Type.Enum(['added', 'removed', 'changed']), keys: Differences },
    { title: 'PartDifference' },
  ),
);
const DiffLabel = Type.Object(
  { sha: Nullable(Sha256), name: Type.String(), env: EnvName, version: Type.String(), sequence: Type.Integer() },
  { title: 'ComparedBundle' },
);

/** Differences between two bundles. */
export const BundleDiff = Type.Object(
  {
    before: DiffLabel,
    after: DiffLabel,
    same_content: Type.Boolean({ description: 'Both contain the same files.' }),
    manifest: Differences,
    services: PartDifferences,
    resources: PartDifferences,
    images: Differences,
    variables: Differences,
    secrets: Type.Array(Difference, { description: 'Paths, fields and versions; bundles contain no values.' }),
    files: Type.Array(Difference, { description: 'sha256 and executable bit, by path.' }),
    privileges: Type.Array(Difference, {
      description: 'Privileges that a host must permit, or a flag of the bundle must allow.',
    }),
  },
  { title: 'BundleDiff' },
);
export type BundleDiff = Static<typeof BundleDiff>;

/** A signature of a bundle. */
export const ReceivedSignature = Type.Object(
  {
    sha256: Sha256,
    signer: Nullable(Type.String({ description: 'Null if its hosts do not trust the signer.' })),
    received_at: Timestamp,
    received_from: Type.String({ description: 'Name of the operator who added it.' }),
    signature: Signature,
  },
  { title: 'ReceivedSignature' },
);
export type ReceivedSignature = Static<typeof ReceivedSignature>;
/** The signatures of a bundle, oldest first. */
export const SignatureList = Type.Object({ signatures: Type.Array(ReceivedSignature) }, { title: 'SignatureList' });
export type SignatureList = Static<typeof SignatureList>;
