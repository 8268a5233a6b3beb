import { type TString, Type } from 'typebox';
import { defaultLimits } from '../../api/checkIn.rules.ts';
import { denials, type PermitKey, permitKeys, type Permits, policyBounds } from '../../api/hostPolicy.rules.ts';
import { weekdays, windowBounds } from '../../api/timeWindow.rules.ts';
import { subjectPattern } from '../../api/trust.rules.ts';
import { guard, optional } from './keyTable.ts';
import {
  absolutePath,
  formatParts,
  integer,
  listOfWords,
  nullable,
  oneOf,
  serviceUrl,
  type ValueType,
} from './valueTypes.ts';

/** An absolute path without `.`, `..`, empty parts and a slash at the end; `*` and a last `**` are wildcards. */
const pathPattern = String.raw`/(?!\.{0,2}(/|$|:ro$))[^\p{Cc}/:]+(/(?!\.{0,2}(/|$|:ro$))[^\p{Cc}/:]+)*`;

const patterns: Partial<Record<PermitKey, string>> = {
  binds: `^(/\\*\\*|${pathPattern})(:ro)?$`,
  devices: `^/dev${pathPattern}$`,
  capabilities: '^(?!CAP_|ALL$)[A-Z_]{1,64}$',
};

/** `policy.permit`: a list of permits for each kind of privilege. */
const permits = {
  schema: Type.Unsafe<Partial<Permits>>(
    Type.Object(
      Object.fromEntries(
        permitKeys.map((key) => [key, Type.Optional(entriesMatching(patterns[key] ?? '^[^\\p{Cc}\\s]+$'))]),
      ),
      { additionalProperties: false },
    ),
  ),
  allowed:
    `a mapping of lists of at most 64 entries of 253 characters (keys: ${permitKeys.join(', ')}). ` +
    'binds: absolute paths without "..", with :ro for read-only access; devices: device files; capabilities: names without CAP_; other keys: names',
};

function entriesMatching(pattern: string) {
  const { entries: maxItems, characters: maxLength } = policyBounds;
  return Type.Array(Type.String({ pattern, maxLength }), { maxItems, uniqueItems: true });
}

/** The keys of a host's policy, in config.yaml and in the policy files of `deployctl` (spec §6, §12). */
export const policyKeys = {
  'policy.permit': guard(
    optional(permits, {}, 'Privileges that bundles may have without `allow_privileged`: a mapping of lists.'),
  ),
  'policy.deny': guard(
    optional(
      listOfWords(...denials),
      [],
      'Privileges and actions that no flag of a bundle and no request can get; entries of `policy.permit` remain permitted.',
    ),
  ),
  'policy.images': guard(
    optional(oneOf('any', 'digest'), 'any', '`digest`: run only images that are pinned by their sha256.'),
  ),
};

const { windows, minutes, start, zone } = windowBounds;
const window = Type.Object(
  {
    days: Type.Array(Type.Enum(weekdays), { minItems: 1, uniqueItems: true }),
    start: Type.String({ pattern: start }),
    minutes: Type.Integer({ minimum: 1, maximum: minutes }),
    time_zone: Type.String({ maxLength: zone }),
  },
  { additionalProperties: false },
);

const parts = {
  days: `a list of ${weekdays.join(', ')}, none twice`,
  start: 'a time of day such as "08:30"',
  minutes: `a whole number from 1 to ${minutes}`,
  time_zone: 'a time zone such as Europe/Berlin',
};

/** A list of windows of time. */
export const timeWindows = {
  schema: Type.Array(window, { maxItems: windows }),
  allowed: `a list of at most ${windows} mappings with the keys ${formatParts(parts)}`,
  parts,
};

/** The limits of a bundle, which hosts and service check (spec §6). */
export const limitKeys = {
  'limits.bundle_bytes': optional(integer('bytes', 1), defaultLimits.bundle_bytes, 'Largest size of a bundle.'),
  'limits.unpacked_bytes': optional(
    integer('bytes', 1),
    defaultLimits.unpacked_bytes,
    'Largest total size of a bundle’s unpacked files.',
  ),
  'limits.bundle_entries': optional(
    integer('entries', 1),
    defaultLimits.bundle_entries,
    'Largest number of files and directories in a bundle.',
  ),
};

/** The keys of traces (spec §21). */
export const traceKeys = {
  'traces.otlp_endpoint': optional(
    nullable(serviceUrl),
    null,
    'URL of an OpenTelemetry collector for traces by OTLP/HTTP, usually `…/v1/traces`; default: no traces are sent.',
  ),
  'traces.ca': guard(
    optional(
      nullable(absolutePath),
      null,
      'PEM file with the certificate authority of the collector; default: the authorities of the system.',
    ),
  ),
};

const maxEntries = 64;
const visible = Type.String({ pattern: '^(?! )[^\\p{C}]{1,253}(?<! )$' });

const subject = Type.String({ pattern: `^(?! )(?=[^\\p{C}]{1,253}$)${subjectPattern}(?<! )$` });

const identities = Type.Array(Type.Object({ issuer: visible, subject }, { additionalProperties: false }), {
  maxItems: maxEntries,
  uniqueItems: true,
});

/** A mapping of the keys of `TrustSettings`; its files are named by paths of a type. */
export function trustBy(path: ValueType<TString>) {
  const parts = {
    threshold: `a whole number of signers, from 1 to ${2 * maxEntries}`,
    keys: `a list of at most ${maxEntries} PEM files, each ${path.allowed}`,
    identities: `a list of at most ${maxEntries} of {issuer, subject}; a subject may end in "*" after "@refs/tags/"`,
    root: path.allowed,
  };
  return {
    schema: Type.Object(
      {
        threshold: Type.Optional(Type.Integer({ minimum: 1, maximum: 2 * maxEntries })),
        keys: Type.Optional(Type.Array(path.schema, { maxItems: maxEntries, uniqueItems: true })),
        identities: Type.Optional(identities),
        root: Type.Optional(path.schema),
      },
      { additionalProperties: false },
    ),
    allowed: `a mapping with the keys ${formatParts(parts)}`,
    parts,
  };
}

/** A registry, or a path in it, without tag and digest. */
const prefixPattern = '(localhost|[a-z0-9-]+(\\.[a-z0-9-]+)+|[a-z0-9.-]+:\\d+)(:\\d+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*';
const repository = Type.String({ pattern: `^${prefixPattern}$`, maxLength: 253 });
const signedAs = Type.String({ pattern: `^(\\*|${prefixPattern})$`, maxLength: 253 });

/** A mapping of the keys of `ImageTrustSettings`; its files are named by paths of a type. */
export function imageTrustBy(path: ValueType<TString>) {
  const { schema, parts } = trustBy(path);
  const rule = Type.Object(
    { ...schema.properties, repository, signed_as: Type.Optional(signedAs) },
    { additionalProperties: false },
  );
  const ownParts = {
    ...parts,
    rules: `a list of at most ${maxEntries} of the same keys with repository (a registry or a path in it, such as ghcr.io/acme) and signed_as (the repository that signatures name instead, "*" for any)`,
  };
  return {
    schema: Type.Object(
      { ...schema.properties, rules: Type.Optional(Type.Array(rule, { maxItems: maxEntries })) },
      { additionalProperties: false },
    ),
    allowed: `a mapping with the keys ${formatParts(ownParts)}`,
    parts: ownParts,
  };
}
