import type { ApiErrorFields } from '../core/apiError.ts';
import type { Operator } from '../core/operator.ts';
import { viewCaller } from '../people/authenticate.ts';
import { consolePath, scriptPath, signInPath, signOutPath, stylePath } from '../people/sessions.ts';

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
export interface Page {
  title: string;
  body: Html;
}

/** The document of a page without a script. */
export function documentOf({ title, body }: Page): string {
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
export function signedOutPage(returnTo: string, providerSignOut: string | null): Page {
  const other = providerSignOut && html`<p><a href="${providerSignOut}">Sign out of the identity provider too</a></p>`;
  return {
    title: 'Signed out',
    body: html`<p>${signInLink(returnTo)}</p>
      ${other}`,
  };
}

/** An error page with a link back. */
export function errorPage({ code, message, status }: ApiErrorFields, requestId: string): Page {
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
export function shellOf(operator: Operator, version: string): string {
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
