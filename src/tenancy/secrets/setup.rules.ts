import { isDeepStrictEqual } from 'node:util';
import {
  agentRole,
  audience,
  authMount,
  secretsMount,
  secretsRole,
  serviceRole,
} from '../keys/secretstoreRoles.rules.ts';
import type { AuthMount, PolicyRules, TokenRole } from '../secretstore/secretstore.rules.ts';

/**
 * How the secretstore gets the keys that verify grants, leases and logins: from the published list, or as copies (PEM).
 */
export type VerificationKeys = { jwksUrl: string; jwksCa: string | null } | { publicKeys: readonly string[] };

/** Parameters of a setup. */
export interface SetupTerms {
  issuer: string;
  keys: VerificationKeys;
}

/** An object of the secretstore, which is written to and read from a path of its API. */
export interface SetupObject {
  name: string;
  path: string;
  fields: Readonly<Record<string, unknown>>;
  /** Advice if the secretstore refuses the object. */
  remedy?: string;
}

/** A mount, which is read from a list by its name. */
export interface SetupMount extends SetupObject {
  list: string;
  key: string;
}

const dayS = 86_400;
/** Agents lease a new token before this time. */
const AGENT_MAX_TTL_S = 30 * dayS;
const SERVICE_TTL_S = 3600;
/** Longest life of a token that reads secrets. */
const SECRETS_TTL_S = 300;
/** Largest difference in seconds between the clocks of the secretstore and the service; doctor warns earlier. */
const CLOCK_SKEW_S = 180;

/** The mount of the secrets, with versions, because deployd pins versions. */
export const secretsEngine: SetupMount = {
  name: `secrets engine ${secretsMount}`,
  list: 'sys/mounts',
  key: `${secretsMount}/`,
  path: `sys/mounts/${secretsMount}`,
  fields: { type: 'kv', options: { version: '2' } },
};

/** The mount where hosts and the service log in. */
export const authMethod: SetupMount = {
  name: `auth method ${authMount}`,
  list: 'sys/auth',
  key: `${authMount}/`,
  path: `sys/auth/${authMount}`,
  fields: { type: 'jwt' },
};

/** All other objects, for the accessor of the auth method. A role comes after its policy. */
export function desiredObjects({ issuer, keys }: SetupTerms, accessor: string): SetupObject[] {
  return [
    {
      name: `configuration of ${authMount}`,
      path: `auth/${authMount}/config`,
      fields: { ...verificationFields(keys), bound_issuer: issuer, jwt_supported_algs: ['ES256'] },
      ...('jwksUrl' in keys && { remedy: remedyFor(keys.jwksUrl) }),
    },
    policyObject(secretsRole.policy, secretsPolicy(accessor)),
    policyObject(serviceRole.policy, servicePolicy),
    roleObject(secretsRole, {
      bound_audiences: [secretsRole.audience],
      claim_mappings: claims,
      token_ttl: SECRETS_TTL_S,
      token_max_ttl: SECRETS_TTL_S,
      token_explicit_max_ttl: SECRETS_TTL_S,
      token_no_default_policy: true,
    }),
    roleObject(agentRole, {
      claim_mappings: claims,
      token_ttl: agentRole.tokenTtlS,
      token_max_ttl: AGENT_MAX_TTL_S,
      token_no_default_policy: false,
    }),
    roleObject(serviceRole, {
      bound_subject: serviceRole.subject,
      token_ttl: SERVICE_TTL_S,
      token_max_ttl: SERVICE_TTL_S,
      token_no_default_policy: true,
    }),
    // Last, because earlier versions read secrets with it until the role of leases exists.
    policyObject(agentRole.policy, agentPolicy),
  ];
}

/** Claims of a grant or lease that the secretstore keeps with the token. */
const claims = { sub: 'backend', env: 'env', gen: 'gen' };

function verificationFields(keys: VerificationKeys): object {
  if ('publicKeys' in keys) {
    const pems = Array.from(keys.publicKeys, (pem) => pem.trim());
    return { jwks_url: '', jwks_ca_pem: '', jwt_validation_pubkeys: pems };
  }
  return { jwks_url: keys.jwksUrl, jwks_ca_pem: keys.jwksCa?.trim() ?? '', jwt_validation_pubkeys: [] };
}

function remedyFor(jwksUrl: string): string {
  return `the secretstore must reach ${jwksUrl}: start the service first, trust a private certificate authority with --jwks-ca, or copy the keys with --public-keys`;
}

function policyObject(name: string, policy: string): SetupObject {
  return { name: `policy ${name}`, path: `sys/policies/acl/${name}`, fields: { policy } };
}

function roleObject({ name, policy }: { name: string; policy: string }, fields: object): SetupObject {
  return {
    name: `role ${name}`,
    path: `auth/${authMount}/role/${name}`,
    fields: {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: [audience],
      clock_skew_leeway: CLOCK_SKEW_S,
      token_type: 'service',
      token_policies: [policy],
      ...fields,
    },
  };
}

const note = '# Written by `deployd-tenancy secretstore apply`.';

/** The policy of a host's own token, which can only look up, renew and revoke itself. */
const agentRules: PolicyRules = {
  'auth/token/lookup-self': ['read'],
  'auth/token/renew-self': ['update'],
  'auth/token/revoke-self': ['update'],
};

const agentPolicy = policyOf(agentRules);

/** The policy of a lease of secrets: its token may read the secrets of the host's environment, and may revoke itself. */
function secretsRules(env: string): PolicyRules {
  return { [`${secretsMount}/data/${env}/see/*`]: ['read'], 'auth/token/revoke-self': ['update'] };
}

/** The JWT stored the environment in the metadata of the host's alias at the mount with this accessor. */
function secretsPolicy(accessor: string): string {
  return policyOf(secretsRules(`{{identity.entity.aliases.${accessor}.metadata.env}}`));
}

/**
 * The policy of this service: it writes, changes and destroys secrets but reads none, and looks up and revokes tokens.
 */
const serviceRules: PolicyRules = {
  [`${secretsMount}/data/+/see/*`]: ['create', 'update', 'patch'],
  [`${secretsMount}/metadata/+/see/*`]: ['read', 'list', 'delete'],
  'auth/token/lookup': ['update'],
  'auth/token/revoke-accessor': ['update'],
};

export const servicePolicy = policyOf(serviceRules);

/** The roles and policies of the embedded secretstore, the same as in `desiredObjects`. */
export function embeddedMount(issuer: string): AuthMount {
  const common = { clockSkewS: CLOCK_SKEW_S, boundAudiences: [audience], boundSubject: null, claimMappings: claims };
  const life = (ttlS: number, maxTtlS: number, explicitMaxTtlS = 0) => ({ ttlS, maxTtlS, explicitMaxTtlS });
  const ofSecrets = { boundAudiences: [secretsRole.audience], ...life(SECRETS_TTL_S, SECRETS_TTL_S, SECRETS_TTL_S) };
  const ofService = { boundSubject: serviceRole.subject, claimMappings: {}, ...life(SERVICE_TTL_S, SERVICE_TTL_S) };
  return {
    issuer,
    defaultRole: null,
    roles: new Map<string, TokenRole>([
      [agentRole.name, { ...common, ...life(agentRole.tokenTtlS, AGENT_MAX_TTL_S), policies: [agentRole.policy] }],
      [secretsRole.name, { ...common, ...ofSecrets, policies: [secretsRole.policy] }],
      [serviceRole.name, { ...common, ...ofService, policies: [serviceRole.policy] }],
    ]),
    policies: new Map([
      [agentRole.policy, agentRules],
      [secretsRole.policy, secretsRules('{{env}}')],
      [serviceRole.policy, serviceRules],
    ]),
  };
}

function policyOf(capabilities: PolicyRules): string {
  const rules = Object.entries(capabilities).map(
    ([path, allowed]) => `path "${path}" {\n  capabilities = ${JSON.stringify(allowed).replaceAll(',', ', ')}\n}\n`,
  );
  return [`${note}\n`, ...rules].join('\n');
}

/** The difference between an object of the secretstore and its desired form: it is missing, or fields differ. */
export type SetupDifference =
  | { name: string; kind: 'missing' }
  | { name: string; kind: 'different'; fields: { name: string; present: unknown; desired: unknown }[] };

/** Returns null if the object has the desired form; fields outside of the setup are left to the operator. */
export function differenceOf(
  { name, fields }: SetupObject,
  present: Record<string, unknown> | null,
): SetupDifference | null {
  if (present === null) return { name, kind: 'missing' };
  const different = Object.entries(fields)
    .map(([field, desired]) => ({ name: field, present: present[field], desired }))
    .filter((field) => !isDeepStrictEqual(field.present, field.desired));
  return different.length === 0 ? null : { name, kind: 'different', fields: different };
}

/** Formats a difference for the operator. */
export function formatDifference(difference: SetupDifference): string[] {
  if (difference.kind === 'missing') return [`+ ${difference.name}`];
  const fields = difference.fields.map(
    ({ name, present, desired }) => `    ${name}: ${JSON.stringify(present ?? null)} → ${JSON.stringify(desired)}`,
  );
  return [`~ ${difference.name}`, ...fields];
}
