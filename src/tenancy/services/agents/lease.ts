import type { BearerIdentity } from '../../credentials/bearerCache.ts';
import { signGrant } from '../../credentials/grants.ts';
import { agentRole, audience, authMount } from '../../credentials/secretstoreRoles.ts';
import type { Dependencies } from '../dependencies.ts';
import { readAgent } from './agent.ts';

/** Seconds in which a lease can be used to log in; the token that it gives has a life of its own. */
export const LEASE_LIFETIME_S = 300;

/** The right to log in to the secretstore once, as the answer to the request of a lease names it. */
export interface LeaseFields {
  method: 'jwt';
  mount: string;
  role: string;
  jwt: string;
  expires_at: string;
}

/** Signs a lease for a backend. There is one role: what a lease is for makes no difference to what it permits. */
export async function giveLease(deps: Dependencies, token: BearerIdentity): Promise<LeaseFields> {
  const agent = await readAgent(deps, token, 'lease');
  const { jwt, expiresAt } = await signGrant(deps.keys(), agent, {
    issuer: deps.settings.public_url,
    audience,
    lifetimeS: LEASE_LIFETIME_S,
    now: deps.clock(),
  });
  return { method: 'jwt', mount: authMount, role: agentRole.name, jwt, expires_at: expiresAt };
}
