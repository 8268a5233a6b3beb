/** Mount of the secretstore's JWT method, where hosts and the service log in. */
export const authMount = 'jwt-tenancy';
/** Mount of the versioned secrets. */
export const secretsMount = 'deployd';

/** `aud` of every JWT for the secretstore. */
export const audience = 'secretstore';
/** Prefix of the `sub` of a grant or lease; the backend's id follows. */
export const backendPrefix = 'backend:';

/** Role of hosts. */
export const agentRole = { name: 'deploy-agent', policy: 'deployd-agent' } as const;
/** Role of this service. */
export const serviceRole = {
  name: 'tenancy-service',
  policy: 'deployd-tenancy-service',
  subject: 'tenancy-service',
} as const;
