import { signInPath } from '../rules/consolePaths.ts';
import type { ApiErrorFields } from '../services/apiError.ts';
import { html, type Html } from './html.ts';
import type { Page } from './page.ts';

/** The way in, to come back to a page. */
export function signedOutPage(returnTo: string, providerSignOut: string | null): Page {
  const other = providerSignOut && html`<p><a href="${providerSignOut}">Sign out of the identity provider too</a></p>`;
  return {
    title: 'Signed out',
    body: html`<p>${signInLink(returnTo)}</p>
      ${other}`,
  };
}

/** An error, and the way back. */
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
