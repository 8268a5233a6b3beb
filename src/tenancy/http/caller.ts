import type { FastifyRequest } from 'fastify';
import { authenticateOperator } from '../services/authenticateOperator.ts';
import type { Dependencies } from '../services/dependencies.ts';
import type { Operator } from '../services/operator.ts';
import { authenticateSession } from '../services/sessions/authenticateSession.ts';
import { tokenUseOf, unauthenticated } from './bearer.ts';
import { cookieOf, sessionCookie } from './cookies.ts';
import { requireSameOrigin } from './sameOrigin.ts';

/**
 * Who makes a call of the operators' API: by the bearer, and only without an Authorization header by the cookie of a
 * session. A call that changes or reveals something must come from a page of the service where it is made by a session.
 * Throws 401, and 403 `CROSS_SITE_REFUSED`.
 */
export async function authenticateCaller(
  deps: Dependencies,
  request: FastifyRequest,
  isChange: boolean,
): Promise<Operator> {
  const secret = request.headers.authorization === undefined ? cookieOf(request, sessionCookie) : undefined;
  if (secret === undefined) {
    const operator = await authenticateOperator(deps, tokenUseOf(request));
    if (operator === null) throw unauthenticated('bearer refused');
    return operator;
  }
  if (isChange) requireSameOrigin(request.headers, deps.settings.public_url);
  const person = await authenticateSession(deps, secret);
  if (person === null) throw unauthenticated('the session is over');
  return person;
}
