import { defaultLimits } from '../../api/checkIn.rules.ts';
import { denials, type PermitKey, permitKeys, policyBounds } from '../../api/hostPolicy.rules.ts';
import { isTimeZone, type TimeWindow, weekdays, windowBounds } from '../../api/timeWindow.rules.ts';
import type { TrustSettings } from '../../api/trust.rules.ts';
import { type ConfigKey, type KeyProblem, optional } from './keyTable.ts';
import {
  absolutePath,
  formatParts,
  integer,
  isUnencrypted,
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

/** `policy.permit`: for each kind of power a list of what is permitted. */
const permits: ValueType = {
  schema: {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(
      permitKeys.map((key) => [key, entriesMatching(patterns[key] ?? '^[^\\p{Cc}\\s]+$')]),
    ),
  },
  allowed:
    `a mapping with the keys ${permitKeys.join(', ')}, each with a list of at most 64 entries of 253 characters. ` +
    'binds: absolute paths without "..", with :ro for read-only access; devices: device files; capabilities: names without CAP_; other keys: names',
};

function entriesMatching(pattern: string): object {
  const { entries: maxItems, characters: maxLength } = policyBounds;
  return { type: 'array', items: { type: 'string', pattern, maxLength }, maxItems, uniqueItems: true };
}

/** The keys of a host's policy, in config.yaml and in the policy files of `deployctl` (spec §6, §12). */
export const policyKeys = {
  'policy.permit': optional(
    permits,
    {},
    'Privileges that bundles may have without `allow_privileged`: a mapping of lists.',
  ),
  'policy.deny': optional(
    listOfWords(...denials),
    [],
    'Privileges and acts that no flag of a bundle and no request can have; the entries of `policy.permit` stay permitted.',
  ),
  'policy.images': optional(
    oneOf('any', 'digest'),
    'any',
    '`digest`: run only images that are pinned by their sha256.',
  ),
} as const satisfies Record<string, ConfigKey>;

const { windows, minutes, start, zone } = windowBounds;
const properties = {
  days: { type: 'array', minItems: 1, uniqueItems: true, items: { type: 'string', enum: weekdays } },
  start: { type: 'string', pattern: start },
  minutes: { type: 'integer', minimum: 1, maximum: minutes },
  time_zone: { type: 'string', maxLength: zone },
};

const parts = {
  days: `a list of ${weekdays.join(', ')}, none twice`,
  start: 'a time of day such as "08:30"',
  minutes: `a whole number from 1 to ${minutes}`,
  time_zone: 'a time zone such as Europe/Berlin',
};

/** A list of windows of time. */
export const timeWindows: ValueType = {
  schema: {
    type: 'array',
    maxItems: windows,
    items: { type: 'object', additionalProperties: false, required: Object.keys(properties), properties },
  },
  allowed: `a list of at most ${windows} mappings with the keys ${formatParts(parts)}`,
  parts,
};

/** The time zones of windows that this system does not know. */
export function timeZoneProblems(key: string, list: readonly TimeWindow[] = []): KeyProblem[] {
  const unknown = list.filter(({ time_zone }) => !isTimeZone(time_zone));
  return unknown.map(({ time_zone }) => ({ key, message: `must have known time zones: there is no ${time_zone}` }));
}

/** Where a program sends its traces; the same keys for agent and tenancy service. */
export interface TraceSettings {
  /** URL that takes traces by OTLP/HTTP; null: none are sent. */
  readonly otlp_endpoint: string | null;
  /** PEM file of the authorities that it is trusted by; null for those of the system. */
  readonly ca: string | null;
}

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
} as const satisfies Record<string, ConfigKey>;

/** The keys of traces (spec §21). */
export const traceKeys = {
  'traces.otlp_endpoint': optional(
    nullable(serviceUrl),
    null,
    'URL of an OpenTelemetry collector for traces by OTLP/HTTP, usually `…/v1/traces`; default: no traces are sent.',
  ),
  'traces.ca': optional(
    nullable(absolutePath),
    null,
    'PEM file with the certificate authority of the collector; default: the authorities of the system.',
  ),
} as const satisfies Record<string, ConfigKey>;

/** Traces are sent without encryption to this host only, whatever the transport of other calls. */
export function traceProblems(traces: TraceSettings | undefined): KeyProblem[] {
  const key = 'traces.otlp_endpoint';
  if (!isUnencrypted(traces?.otlp_endpoint)) return [];
  return [{ key, message: `must be ${traceKeys[key].allowed}; http:// is allowed to loopback` }];
}

const maxEntries = 64;
const visible = { type: 'string', pattern: '^(?! )[^\\p{C}]{1,253}(?<! )$' };

const identities = {
  type: 'array',
  maxItems: maxEntries,
  uniqueItems: true,
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['issuer', 'subject'],
    properties: { issuer: visible, subject: visible },
  },
};

/** A mapping of the keys of `TrustSettings`, or null; its files are named by paths of a type. */
export function trustBy(path: ValueType): ValueType {
  const threshold = { type: 'integer', minimum: 1, maximum: 2 * maxEntries };
  const keys = { type: 'array', items: path.schema, maxItems: maxEntries, uniqueItems: true };
  const properties = { threshold, keys, identities, root: path.schema };
  const parts = {
    threshold: `a whole number of signers, from 1 to ${2 * maxEntries}`,
    keys: `a list of at most ${maxEntries} PEM files, each ${path.allowed}`,
    identities: `a list of at most ${maxEntries} of {issuer, subject}`,
    root: path.allowed,
  };
  return {
    schema: { type: 'object', nullable: true, additionalProperties: false, properties },
    allowed: `a mapping with the keys ${formatParts(parts)}`,
    parts,
  };
}

/** What contradicts itself in a trust: nobody, or too few, who could sign, and identities that nothing can verify. */
export function trustProblems(key: string, settings: TrustSettings | null | undefined): KeyProblem[] {
  if (!settings) return [];
  const { threshold = 1, keys = [], identities = [], root } = settings;
  const signers = keys.length + identities.length;
  const problems = [
    ...(signers === 0 ? ['must name keys or identities, or be left out'] : []),
    ...(signers > 0 && threshold > signers
      ? [`must have a threshold that can be met: it is ${threshold}, and ${signers} can sign`]
      : []),
    ...(identities.length > 0 && root === undefined
      ? ['must name the trust root (root) by which its identities are verified']
      : []),
  ];
  return problems.map((message) => ({ key, message }));
}
