import { agentRole, audience, authMount, secretsMount, serviceRole } from '../../credentials/secretstoreRoles.ts';
import { agentPolicy, servicePolicy } from './secretstorePolicies.ts';

/** How the secretstore gets the keys that verify grants, leases and logins: by the published list, or as copies (PEM). */
export type VerificationKeys = { jwksUrl: string; jwksCa: string | null } | { publicKeys: readonly string[] };

/** What a setup depends on. */
export interface SetupTerms {
  issuer: string;
  keys: VerificationKeys;
}

/** An object of the secretstore: what is written to a path of its API, and read there. */
export interface SetupObject {
  name: string;
  path: string;
  fields: Readonly<Record<string, unknown>>;
  /** What to do if the secretstore refuses it. */
  remedy?: string;
}

/** A mount; it is read from a list, by its name. */
export interface SetupMount extends SetupObject {
  list: string;
  key: string;
}

const dayS = 86_400;
/** A host that is off for longer needs a new kit. */
const AGENT_TTL_S = 7 * dayS;
/** Agents lease a new token before. */
const AGENT_MAX_TTL_S = 30 * dayS;
const SERVICE_TTL_S = 3600;
/** Seconds by which the clocks of secretstore and service may differ; doctor complains before. */
const CLOCK_SKEW_S = 180;

/** The mount of the secrets: versioned, as deployd pins versions. */
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

/** Everything else, for the accessor of the auth method. A role comes after its policy. */
export function desiredObjects({ issuer, keys }: SetupTerms, accessor: string): SetupObject[] {
  return [
    {
      name: `configuration of ${authMount}`,
      path: `auth/${authMount}/config`,
      fields: { ...verificationFields(keys), bound_issuer: issuer, jwt_supported_algs: ['ES256'] },
      ...('jwksUrl' in keys && { remedy: remedyFor(keys.jwksUrl) }),
    },
    policyObject(agentRole.policy, agentPolicy(accessor)),
    policyObject(serviceRole.policy, servicePolicy),
    roleObject(agentRole, {
      claim_mappings: { sub: 'backend', env: 'env', gen: 'gen' },
      token_ttl: AGENT_TTL_S,
      token_max_ttl: AGENT_MAX_TTL_S,
      token_no_default_policy: false,
    }),
    roleObject(serviceRole, {
      bound_subject: serviceRole.subject,
      token_ttl: SERVICE_TTL_S,
      token_max_ttl: SERVICE_TTL_S,
      token_no_default_policy: true,
    }),
  ];
}

function verificationFields(keys: VerificationKeys): object {
  if ('publicKeys' in keys) {
    const pems = Array.from(keys.publicKeys, (pem) => pem.trim());
    return { jwks_url: '', jwks_ca_pem: '', jwt_validation_pubkeys: pems };
  }
  return { jwks_url: keys.jwksUrl, jwks_ca_pem: keys.jwksCa?.trim() ?? '', jwt_validation_pubkeys: [] };
}

function remedyFor(jwksUrl: string): string {
  return `the secretstore must reach ${jwksUrl}: start the service first, give a private authority by --jwks-ca, or copy the keys by --static-keys`;
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
