import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { cookieOf, sessionCookie, setCookie, signInCookie } from '../http/cookies.ts';
import { errorFields } from '../http/errors.ts';
import { requireSameOrigin } from '../http/sameOrigin.ts';
import { countedAddress, RateLimiter } from '../http/signInLimit.ts';
import { callbackPath, consolePath, signedOutPath, signInPath, signOutPath } from '../rules/consolePaths.ts';
import type { Dependencies } from '../services/dependencies.ts';
import { authenticateSession } from '../services/sessions/authenticateSession.ts';
import { signOut } from '../services/sessions/endSession.ts';
import { beginSignIn, finishSignIn, SIGN_IN_MS } from '../services/sessions/signIn.ts';
import { loadBrowserProgram, type BrowserProgram } from './browserProgram.ts';
import { addAssets } from './consoleAssets.ts';
import { documentOf, type Page } from './page.ts';
import { errorPage, signedOutPage } from './pages.ts';
import { securityHeaders } from './securityHeaders.ts';
import { shellOf } from './shell.ts';

/** Begun, finished and ended sign-ins of one address, and finished ones of one person. */
const limits = { address: { times: 30, windowMs: 60_000 }, person: { times: 10, windowMs: 60_000 } };

/** No route of the console is part of the API. */
const page = { schema: { hide: true }, config: { lane: 'operator' } } as const;

/** Registers the console: its program for people who have signed in, and signing in and out. */
export function registerConsole(app: FastifyInstance, deps: Dependencies): void {
  void app.register(async (scope) => {
    scope.setErrorHandler((error: Error, request, reply) => sendError(deps, error, { request, reply }));
    scope.addHook('onSend', async (_request, reply) => {
      const caching = reply.getHeader('cache-control');
      void reply.headers({ ...securityHeaders, ...(caching !== undefined && { 'cache-control': caching }) });
    });
    scope.addContentTypeParser('application/x-www-form-urlencoded', (_request, _payload, done) => done(null));
    let loading: Promise<BrowserProgram> | undefined;
    const load = () => (loading ??= loadBrowserProgram());
    addAssets(scope, load, page);
    addShell(scope, deps, load);
    const addresses = new RateLimiter(limits.address, deps.clock);
    addSignOut(scope, deps, addresses);
    addSignIn(scope, deps, addresses);
  });
}

/** The browser program finds its page by the rest of the path. */
function addShell(scope: FastifyInstance, deps: Dependencies, load: () => Promise<BrowserProgram>): void {
  scope.get(`${consolePath}*`, page, async (request, reply) => {
    const secret = cookieOf(request, sessionCookie);
    const person = secret === undefined ? null : await authenticateSession(deps, secret);
    request.operator = person;
    if (person === null) return send(reply.code(401), signedOutPage(request.url, null));
    const { version } = await load();
    return reply.type('text/html; charset=utf-8').send(shellOf(person, version));
  });
}

function addSignOut(scope: FastifyInstance, deps: Dependencies, addresses: RateLimiter): void {
  scope.get(signedOutPath, page, async (request, reply) => {
    // The provider may be asked for it.
    addresses.take(countedAddress(request.ip));
    const url = await (deps.identityProvider?.signOutUrl().catch(() => null) ?? null);
    return send(reply, signedOutPage(consolePath, url));
  });
  scope.post(signOutPath, page, async (request, reply) => {
    requireSameOrigin(request.headers, deps.settings.public_url);
    await endSessionOf(deps, request);
    void reply.header('set-cookie', setCookie(sessionCookie, '', 0));
    return redirect(deps, reply, signedOutPath);
  });
}

function addSignIn(scope: FastifyInstance, deps: Dependencies, addresses: RateLimiter): void {
  const people = new RateLimiter(limits.person, deps.clock);
  scope.get<{ Querystring: { return_to?: string | string[] } }>(signInPath, page, async (request, reply) => {
    addresses.take(countedAddress(request.ip));
    const { return_to: wish } = request.query;
    const { url, kept } = await beginSignIn(deps, typeof wish === 'string' ? wish : undefined);
    void reply.header('set-cookie', setCookie(signInCookie, kept, SIGN_IN_MS / 1000));
    return reply.redirect(url, 303);
  });
  scope.get(callbackPath, page, async (request, reply) => {
    addresses.take(countedAddress(request.ip));
    // Whatever comes of it, this half of the sign-in is used up in this browser.
    void reply.header('set-cookie', setCookie(signInCookie, '', 0));
    const { secret, returnTo } = await finishSignIn(deps, {
      ...{ query: new URL(request.url, deps.settings.public_url).search, kept: cookieOf(request, signInCookie) },
      ...{ address: request.ip, requestId: request.id, limit: (subject) => people.take(subject) },
    });
    // The cookie of the session before goes, and with it the only way to end that one from here.
    await endSessionOf(deps, request);
    void reply.header('set-cookie', setCookie(sessionCookie, secret, deps.settings.session.lifetime_s));
    return redirect(deps, reply, returnTo);
  });
}

async function endSessionOf(deps: Dependencies, request: FastifyRequest): Promise<void> {
  const secret = cookieOf(request, sessionCookie);
  if (secret !== undefined) await signOut(deps, { secret, address: request.ip, requestId: request.id });
}

function send(reply: FastifyReply, content: Page): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(documentOf(content));
}

/** To a path of the service, under the address by which people know it. */
function redirect({ settings }: Dependencies, reply: FastifyReply, path: string): FastifyReply {
  return reply.redirect(settings.public_url + path, 303);
}

function sendError(
  { log }: Dependencies,
  error: Error,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): FastifyReply {
  const fields = errorFields(error);
  if (fields.status >= 500) log('warn', `a page has failed: ${error.message}`, { request_id: request.id });
  if (fields.retryAfterS !== undefined) void reply.header('retry-after', fields.retryAfterS);
  return send(reply.code(fields.status), errorPage(fields, request.id));
}
