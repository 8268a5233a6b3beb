/** Mount of the secretstore's JWT method, where hosts and the service log in. */
export const authMount = 'jwt-tenancy';
/** Mount of the versioned secrets. */
export const secretsMount = 'deployd';

/** `aud` of all JWTs for the secretstore, except leases of secrets. */
export const audience = 'secretstore';
/** Prefix of the `sub` of a grant or lease; the backend's id follows. */
export const backendPrefix = 'backend:';

/**
 * Role of grants, and of leases that replace a token: its tokens identify a host, renew themselves, and read nothing. A
 * host that is off for longer than `tokenTtlS` needs a new kit.
 */
export const agentRole = { name: 'deploy-agent', policy: 'deployd-agent', tokenTtlS: 7 * 86_400 } as const;
/**
 * Role of leases of secrets: its tokens read the secrets of an environment, cannot be renewed, and identify nobody. Only
 * a JWT with its own audience can log in with it.
 */
export const secretsRole = { name: 'deploy-apply', policy: 'deployd-apply', audience: 'secretstore-apply' } as const;
/** Role of this service. */
export const serviceRole = {
  name: 'tenancy-service',
  policy: 'deployd-tenancy-service',
  subject: 'tenancy-service',
} as const;
