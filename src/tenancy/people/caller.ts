import type { FastifyRequest } from 'fastify';
import type { Dependencies } from '../core/dependencies.ts';
import type { Operator } from '../core/operator.ts';
import { tokenUseOf, unauthenticated } from '../http/bearer.ts';
import { cookieOf, requireSameOrigin, sessionCookie } from '../http/headers.ts';
import { authenticateOperator, authenticateSession } from './authenticate.ts';

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
