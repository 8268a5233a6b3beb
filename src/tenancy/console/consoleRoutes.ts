import { isIPv6 } from 'node:net';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ApiError, type ApiErrorFields } from '../core/apiError.rules.ts';
import type { Operator } from '../core/permission.rules.ts';
import { errorFields } from '../http/errors.ts';
import { cookieOf, requireSameOrigin, sessionCookie, setCookie, signInCookie } from '../http/responses.ts';
import { authenticateSession, type SessionDependencies, signOut, viewCaller } from '../people/authenticate.ts';
import {
  beginSignIn,
  callbackPath,
  consolePath,
  finishSignIn,
  scriptPath,
  SIGN_IN_MS,
  signedOutPath,
  signInPath,
  signOutPath,
  stylePath,
} from '../people/sessions.ts';
import { type BrowserProgram, loadBrowserProgram } from './browserProgram.ts';

/** Limits of started, finished and ended sign-ins per address, and of finished sign-ins per person. */
const limits = { address: { times: 30, windowMs: 60_000 }, person: { times: 10, windowMs: 60_000 } };

/** Hides the console's routes from the API document. */
const page = { schema: { hide: true }, config: { lane: 'operator' } } as const;
const asset = { schema: { hide: true }, config: { lane: 'public' } } as const;

/** Registers the console: its program for signed-in people, and the routes that sign in and out. */
export function registerConsole(app: FastifyInstance, deps: SessionDependencies): void {
  void app.register(async (scope) => {
    scope.setErrorHandler((error: Error, request, reply) => sendError(deps, error, { request, reply }));
    scope.addHook('onSend', async (_request, reply) => {
      const caching = reply.getHeader('cache-control');
      void reply.headers({ ...securityHeaders, ...(caching !== undefined && { 'cache-control': caching }) });
    });
    scope.addContentTypeParser('application/x-www-form-urlencoded', (_request, _payload, done) => done(null));
    let loading: Promise<BrowserProgram> | undefined;
    const load = () => (loading ??= loadBrowserProgram());
    addAssets(scope, load);
    addShell(scope, deps, load);
    const addresses = new RateLimiter(limits.address, deps.clock);
    addSignOut(scope, deps, addresses);
    addSignIn(scope, deps, addresses);
  });
}

/** The browser program selects its page by the rest of the path. */
function addShell(scope: FastifyInstance, deps: SessionDependencies, load: () => Promise<BrowserProgram>): void {
  scope.get(`${consolePath}*`, page, async (request, reply) => {
    const secret = cookieOf(request, sessionCookie);
    const person = secret === undefined ? null : await authenticateSession(deps, secret);
    request.operator = person;
    if (person === null) return send(reply.code(401), signedOutPage(request.url, null));
    const { version } = await load();
    return reply.type('text/html; charset=utf-8').send(shellOf(person, version));
  });
}

function addSignOut(scope: FastifyInstance, deps: SessionDependencies, addresses: RateLimiter): void {
  scope.get(signedOutPath, page, async (request, reply) => {
    // This may call the provider.
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

function addSignIn(scope: FastifyInstance, deps: SessionDependencies, addresses: RateLimiter): void {
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
    // This half of the sign-in can be used only once in this browser.
    void reply.header('set-cookie', setCookie(signInCookie, '', 0));
    const { secret, returnTo } = await finishSignIn(deps, {
      ...{ query: new URL(request.url, deps.settings.public_url).search, kept: cookieOf(request, signInCookie) },
      ...{ address: request.ip, requestId: request.id, limit: (subject) => people.take(subject) },
    });
    // The new cookie replaces the previous session's cookie, so that session could no longer be ended from this
    // browser.
    await endSessionOf(deps, request);
    void reply.header('set-cookie', setCookie(sessionCookie, secret, deps.settings.session.lifetime_s));
    return redirect(deps, reply, returnTo);
  });
}

async function endSessionOf(deps: SessionDependencies, request: FastifyRequest): Promise<void> {
  const secret = cookieOf(request, sessionCookie);
  if (secret !== undefined) await signOut(deps, { secret, address: request.ip, requestId: request.id });
}

function send(reply: FastifyReply, content: Page): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(documentOf(content));
}

/** Redirects to a path of the service below its public address. */
function redirect({ settings }: SessionDependencies, reply: FastifyReply, path: string): FastifyReply {
  return reply.redirect(settings.public_url + path, 303);
}

function sendError(
  { log }: SessionDependencies,
  error: Error,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): FastifyReply {
  const fields = errorFields(error);
  if (fields.status >= 500) log('warn', `a page has failed: ${error.message}`, { request_id: request.id });
  if (fields.retryAfterS !== undefined) void reply.header('retry-after', fields.retryAfterS);
  return send(reply.code(fields.status), errorPage(fields, request.id));
}

/**
 * Headers of every page: they forbid content from elsewhere, inline scripts and styles, frames and caches.
 * `same-origin` rather than `no-referrer`, with which browsers would send forms without their `Origin`.
 */
const securityHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "form-action 'self'"],
    ...["base-uri 'none'", "frame-ancestors 'none'"],
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
};

/** Largest number of addresses or people that are counted at once; one more replaces the oldest. */
const MAX_KEYS = 10_000;

/** Number of actions that are allowed in a time window. */
interface RateLimit {
  times: number;
  windowMs: number;
}

/** Counts actions of each address or person in fixed time windows, in this process. */
export class RateLimiter {
  readonly #counts = new Map<string, { since: number; count: number }>();
  readonly #limit: RateLimit;
  readonly #clock: () => number;

  constructor(limit: RateLimit, clock: () => number) {
    this.#limit = limit;
    this.#clock = clock;
  }

  /** Counts one more action; throws 429 with the seconds until the window ends if there are too many. */
  take(key: string): void {
    const { times, windowMs } = this.#limit;
    const now = this.#clock();
    const known = this.#counts.get(key);
    // If the clock went back by more than a window, start a new window instead of waiting for the old time.
    const lasts = known !== undefined && Math.abs(now - known.since) < windowMs;
    const window = lasts ? known : { since: now, count: 0 };
    if (window !== known) this.#begin(key, window);
    window.count++;
    if (window.count <= times) return;
    const retryAfterS = Math.max(1, Math.ceil((window.since + windowMs - now) / 1000));
    throw new ApiError({
      status: 429,
      code: 'TOO_MANY_SIGN_INS',
      message: 'too many sign-ins; try again later',
      retryAfterS,
    });
  }

  #begin(key: string, window: { since: number; count: number }): void {
    this.#counts.delete(key);
    const [first] = this.#counts.keys();
    if (first !== undefined && this.#counts.size >= MAX_KEYS) this.#counts.delete(first);
    this.#counts.set(key, window);
  }
}

/** Address to count by: an IPv6 /64 counts as one address, because one customer has all of it. */
export function countedAddress(address: string): string {
  if (!isIPv6(address) || address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const left = head.split(':').filter(Boolean);
  const right = tail?.split(':').filter(Boolean) ?? [];
  const zeros = tail === undefined ? 0 : 8 - left.length - right.length;
  return [...left, ...Array<string>(zeros).fill('0'), ...right].slice(0, 4).join(':');
}

/** Serves the console's script and style sheet. A browser caches the version that its page names. */
function addAssets(scope: FastifyInstance, load: () => Promise<BrowserProgram>): void {
  const serve = (path: string, type: string, textOf: (program: BrowserProgram) => string) => {
    let bytes: Buffer | undefined;
    scope.get<{ Querystring: { v?: string } }>(path, asset, async (request, reply) => {
      const program = await load();
      keepVersion(request, reply, program.version);
      return reply.type(`${type}; charset=utf-8`).send((bytes ??= Buffer.from(textOf(program))));
    });
  };
  serve(scriptPath, 'text/javascript', ({ script }) => script);
  serve(stylePath, 'text/css', ({ style }) => style);
}

/** Answers requests for another version too, without caching, while instances of two versions run side by side. */
function keepVersion(
  request: FastifyRequest<{ Querystring: { v?: string } }>,
  reply: FastifyReply,
  version: string,
): void {
  if (request.query.v === version) void reply.header('cache-control', 'public, max-age=31536000, immutable');
}

/** HTML text that is already escaped. */
class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * Builds HTML with values: escapes texts, but not HTML or lists of HTML; null adds nothing. Attributes must be in
 * double quotes.
 */
function html(parts: TemplateStringsArray, ...values: (string | Html | readonly Html[] | null)[]): Html {
  return new Html(parts.reduce((text, part, index) => text + textOf(values[index - 1] ?? null) + part));
}

function textOf(value: string | Html | readonly Html[] | null): string {
  if (value === null) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (character) => entities[character] ?? '');
  return value.map(({ text }) => text).join('');
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** A page of the console that needs no script. */
interface Page {
  title: string;
  body: Html;
}

/** The document of a page without a script. */
function documentOf({ title, body }: Page): string {
  const main = html`<main class="plain">
    <h1>${title}</h1>
    ${body}
  </main>`;
  return frameOf(title, html`<link rel="stylesheet" href="${stylePath}" />`, main);
}

/** A document with a title, further elements of the head, and a body. */
function frameOf(title: string, head: Html, body: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · deployd</title>
        ${head}
      </head>
      <body>
        ${body}
      </body>
    </html>`.text;
}

/** The sign-in page, which leads back to a page afterwards. */
function signedOutPage(returnTo: string, providerSignOut: string | null): Page {
  const other = providerSignOut && html`<p><a href="${providerSignOut}">Sign out of the identity provider too</a></p>`;
  return {
    title: 'Signed out',
    body: html`<p>${signInLink(returnTo)}</p>
      ${other}`,
  };
}

/** An error page with a link back. */
function errorPage({ code, message, status }: ApiErrorFields, requestId: string): Page {
  return {
    title: titles[status] ?? 'This did not work',
    body: html`<p>${message}</p>
      <p><small>${code} · request ${requestId}</small></p>
      <p>${signInLink('')}</p>`,
  };
}

const titles: Record<number, string> = {
  403: 'Not permitted',
  404: 'Not here',
  429: 'Too many sign-ins',
  503: 'Not available at the moment',
};

function signInLink(returnTo: string): Html {
  const query = returnTo === '' ? '' : `?return_to=${encodeURIComponent(returnTo)}`;
  return html`<a class="button" href="${signInPath}${query}">Sign in</a>`;
}

/** The pages of the navigation. */
const links = [
  ['', 'Fleet'],
  ['envs', 'Envs'],
  ['audit', 'Audit log'],
  ['people', 'People'],
] as const;

/**
 * The document around every page of the browser program (src/console): navigation, the signed-in person, and the
 * elements that the program fills. `version` is the program's version.
 */
function shellOf(operator: Operator, version: string): string {
  const caller = JSON.stringify(viewCaller(operator));
  const head = html`<link rel="stylesheet" href="${stylePath}?v=${version}" />
    <script type="module" src="${scriptPath}?v=${version}"></script>`;
  const body = html`<a class="skip" href="#page">Skip to the page</a>
    <header class="top">
      <a class="brand" href="${consolePath}">deployd</a>
      <nav aria-label="Pages">
        <ul>
          ${links.map(([path, name]) => html`<li><a href="${consolePath}${path}">${name}</a></li>`)}
        </ul>
      </nav>
      <form class="person" method="post" action="${signOutPath}">
        <span>${operator.name}</span> <button class="quiet">Sign out</button>
      </form>
    </header>
    <p id="connection" role="status"></p>
    <main id="page" tabindex="-1" aria-busy="true" data-caller="${caller}">
      <p>Loading …</p>
      <p class="late">
        The program of this page is not there yet. Is the network slow? Load the page again; if that does not help, look
        whether your browser is older than two years, or something on the way to the service keeps ${scriptPath} from
        it. deployctl does all of it too.
      </p>
    </main>
    <footer><p id="zone"></p></footer>
    <p id="said" class="hidden" role="status"></p>
    <dialog id="dialog" aria-labelledby="dialog-title"></dialog>
    <noscript><p class="notice bad">The console needs JavaScript. deployctl does all of it too.</p></noscript>`;
  return frameOf('Console', head, body);
}
