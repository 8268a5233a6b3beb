import { signInPath, signOutPath } from '../rules/consolePaths.ts';
import type { Permission } from '../rules/permission.ts';
import type { ApiErrorFields } from '../services/apiError.ts';
import type { Operator } from '../services/operator.ts';
import { html, type Html } from './html.ts';
import type { Page } from './page.ts';

/** Who has signed in, what they may do, and the way out. */
export function signedInPage({ name, permissions, session }: Operator): Page {
  return {
    title: 'Signed in',
    body: html`<dl>
        <dt>Name in the audit log</dt>
        <dd>${name}</dd>
        <dt>At the identity provider</dt>
        <dd>${session?.subject ?? ''}</dd>
        ${permissions.map(permissionRow)}
      </dl>
      <form method="post" action="${signOutPath}"><button>Sign out</button></form>`,
  };
}

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

function permissionRow({ role, envs }: Permission): Html {
  return html`<dt>${role}</dt>
    <dd>${envs === null ? 'all envs' : envs.join(', ')}</dd>`;
}
