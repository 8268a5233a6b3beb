import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ApiErrorFields } from '../core/apiError.rules.ts';
import { countedAddress, RateLimiter } from '../core/limiter.ts';
import { type Operator, tokenIssuer } from '../core/permission.rules.ts';
import { errorFields } from '../http/errors.ts';
import {
  callUseOf,
  cookieOf,
  requireNavigation,
  requireSameOrigin,
  sessionCookie,
  setCookie,
  signInCookie,
} from '../http/responses.ts';
import { authenticateSession, type SessionDependencies, viewCaller } from '../people/authenticate.ts';
import {
  beginSignIn,
  callbackPath,
  consolePath,
  finishSignIn,
  mayKeepSessions,
  returnPath,
  scriptPath,
  SIGN_IN_MS,
  signedOutPath,
  signInPath,
  signInWithToken,
  signOut,
  signOutPath,
  stylePath,
} from '../people/sessions.ts';
import { type BrowserProgram, loadBrowserProgram } from '../http/servedPrograms.ts';

/** Limits of started, finished and ended sign-ins per address, and of finished sign-ins per person. */
const limits = { address: { times: 30, windowMs: 60_000 }, person: { times: 10, windowMs: 60_000 } };

/** Hides the console's routes from the API document. */
const page = { schema: { hide: true }, config: { lane: 'operator' } } as const;
/** A page that only a person opens; this is checked before the request is counted. */
const opened = { ...page, onRequest: async ({ headers }: FastifyRequest) => requireNavigation(headers) };
const asset = { schema: { hide: true }, config: { lane: 'public' } } as const;

/** Registers the console: its program for signed-in people, and the routes that sign in and out. */
export function registerConsole(app: FastifyInstance, deps: SessionDependencies): void {
  void app.register(async (scope) => {
    scope.setErrorHandler((error: Error, request, reply) => sendError(deps, error, { request, reply }));
    scope.addHook('onSend', async (_request, reply) => {
      const caching = reply.getHeader('cache-control');
      void reply.headers({ ...securityHeaders, ...(caching !== undefined && { 'cache-control': caching }) });
    });
    scope.removeAllContentTypeParsers();
    const parsing = { parseAs: 'string', bodyLimit: MAX_FORM_BYTES } as const;
    scope.addContentTypeParser<string>('application/x-www-form-urlencoded', parsing, (_request, body, done) =>
      done(null, new URLSearchParams(body)),
    );
    let loading: Promise<BrowserProgram> | undefined;
    const load = () => (loading ??= loadBrowserProgram());
    addAssets(scope, load);
    addShell(scope, deps, load);
    const addresses = new RateLimiter(limits.address, deps.clock);
    addSignOut(scope, deps, addresses);
    addSignIn(scope, deps, addresses);
    for (const path of ['/', consolePath.slice(0, -1)])
      scope.get(path, page, async (_request, reply) => redirect(deps, reply, consolePath));
  });
}

/** Larger than the form of a sign-in with every address that it may lead back to. */
const MAX_FORM_BYTES = 8192;

/** The browser program selects its page by the rest of the path. */
function addShell(scope: FastifyInstance, deps: SessionDependencies, load: () => Promise<BrowserProgram>): void {
  scope.get(`${consolePath}*`, page, async (request, reply) => {
    const secret = cookieOf(request, sessionCookie);
    const use = { ...callUseOf(request), isChange: false };
    const person = secret === undefined ? null : await authenticateSession(deps, secret, use);
    request.operator = person;
    if (person === null) return send(reply.code(401), signInPage(deps, { returnTo: request.url }));
    const { version } = await load();
    return reply.type('text/html; charset=utf-8').send(shellOf(person, version));
  });
}

function addSignOut(scope: FastifyInstance, deps: SessionDependencies, addresses: RateLimiter): void {
  scope.get(signedOutPath, opened, async (request, reply) => {
    // This may call the provider.
    addresses.take(countedAddress(request.ip));
    const url = await (deps.identityProvider?.signOutUrl().catch(() => null) ?? null);
    return send(reply, signInPage(deps, { title: 'Signed out', returnTo: consolePath, providerSignOut: url }));
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
  scope.get<{ Querystring: { return_to?: string | string[] } }>(signInPath, opened, async (request, reply) => {
    addresses.take(countedAddress(request.ip));
    const { return_to: given } = request.query;
    const wish = typeof given === 'string' ? given : undefined;
    if (deps.identityProvider === null) return send(reply, signInPage(deps, { returnTo: returnPath(wish) }));
    const { url, kept } = await beginSignIn(deps, wish);
    void reply.header('set-cookie', setCookie(signInCookie, kept, SIGN_IN_MS / 1000));
    return reply.redirect(url, 303);
  });
  scope.get(callbackPath, opened, async (request, reply) => {
    addresses.take(countedAddress(request.ip));
    // This half of the sign-in can be used only once in this browser.
    void reply.header('set-cookie', setCookie(signInCookie, '', 0));
    const { secret, returnTo } = await finishSignIn(deps, {
      ...{ query: new URL(request.url, deps.settings.public_url).search, kept: cookieOf(request, signInCookie) },
      ...{ address: request.ip, requestId: request.id, limit: (subject) => people.take(subject) },
    });
    return beginSession(deps, { request, reply }, { secret, returnTo });
  });
  // A page of another site could otherwise sign people in as somebody else. This is checked before the body is read.
  const onRequest = async ({ headers }: FastifyRequest) => requireSameOrigin(headers, deps.settings.public_url);
  scope.post<{ Body?: URLSearchParams }>(signInPath, { ...page, onRequest }, async (request, reply) => {
    addresses.take(countedAddress(request.ip));
    const token = request.body?.get('token')?.trim() ?? '';
    const returnTo = returnPath(request.body?.get('return_to') ?? undefined);
    const limit = (subject: string) => people.take(`${tokenIssuer} ${subject}`);
    const secret = await signInWithToken(deps, { token, limit, ...callUseOf(request) });
    if (secret === null) return send(reply.code(401), signInPage(deps, { returnTo, isWrong: true }));
    return beginSession(deps, { request, reply }, { secret, returnTo });
  });
}

/** Gives a browser a new session, and leads to a page of the console. */
async function beginSession(
  deps: SessionDependencies,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { secret, returnTo }: { secret: string; returnTo: string },
): Promise<FastifyReply> {
  // The new cookie replaces the previous session's cookie, so that session could no longer be ended from this browser.
  await endSessionOf(deps, request);
  void reply.header('set-cookie', setCookie(sessionCookie, secret, deps.settings.session.lifetime_s));
  return redirect(deps, reply, returnTo);
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
  deps: SessionDependencies,
  error: Error,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
): FastifyReply {
  const fields = errorFields(error);
  if (fields.status >= 500) deps.log('warn', `a page has failed: ${error.message}`, { request_id: request.id });
  if (fields.retryAfterS !== undefined) void reply.header('retry-after', fields.retryAfterS);
  const signIn = signInWays(deps, { returnTo: consolePath });
  return send(reply.code(fields.status), errorPage(fields, request.id, signIn));
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

interface SignInOptions {
  title?: string;
  /** The page to open afterwards. */
  returnTo: string;
  providerSignOut?: string | null;
  /** Whether the token that was sent is not valid. */
  isWrong?: boolean;
}

/** The sign-in page, which leads back to a page afterwards. */
function signInPage(deps: SessionDependencies, options: SignInOptions): Page {
  const { title = 'Sign in', providerSignOut = null } = options;
  const other = providerSignOut && html`<p><a href="${providerSignOut}">Sign out of the identity provider too</a></p>`;
  return { title, body: html`${signInWays(deps, options)} ${other}` };
}

/** An error page with a way back. */
function errorPage({ code, message, status }: ApiErrorFields, requestId: string, signIn: Html): Page {
  return {
    title: titles[status] ?? 'This did not work',
    body: html`<p>${message}</p>
      <p><small>${code} · request ${requestId}</small></p>
      ${signIn}`,
  };
}

const titles: Record<number, string> = {
  403: 'Not permitted',
  404: 'Not here',
  429: 'Too many sign-ins',
  503: 'Not available at the moment',
};

/** The ways to sign in here: at the provider, if there is one, and with a token. */
function signInWays(deps: SessionDependencies, { returnTo, isWrong = false }: SignInOptions): Html {
  if (!mayKeepSessions(deps))
    return html`<p>People cannot sign in here: <code>public_url</code> is not https, or has a path. Use deployctl.</p>`;
  const form = tokenForm(returnTo, isWrong);
  if (deps.identityProvider === null) return form;
  const query = encodeURIComponent(returnTo);
  return html`<p><a class="button" href="${signInPath}?return_to=${query}">Sign in</a></p>
    <h2>With a token</h2>
    ${form}`;
}

/** A plain form, which works without scripts. Password managers may store the token, as they store passwords. */
function tokenForm(returnTo: string, isWrong: boolean): Html {
  const error = html`<p class="notice bad" role="alert" id="wrong">
    This token is not valid: it is mistyped, has expired or was revoked.
  </p>`;
  const wrong = isWrong
    ? html`aria-invalid="true" aria-describedby="wrong token-hint"`
    : html`aria-describedby="token-hint"`;
  return html`<form class="sign-in" method="post" action="${signInPath}">
    ${isWrong ? error : null}
    <input type="hidden" name="return_to" value="${returnTo}" />
    <label
      >Operator token
      <input
        type="password"
        name="token"
        required
        maxlength="200"
        autocomplete="current-password"
        autocapitalize="off"
        spellcheck="false"
        ${wrong}
    /></label>
    <p class="hint" id="token-hint">
      It begins with <code>dpo_</code>. The session ends at the latest when the token does.
    </p>
    <p><button class="primary">Sign in with the token</button></p>
  </form>`;
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
