import { html, nothing, type TemplateResult } from 'lit-html';
import type { ApiError } from '../api/createApi.ts';
import { adviceFor } from '../core/pages.rules.ts';

/** Where one signs in, to come back to this page. */
function signInHref(): string {
  return `/console/sign-in?return_to=${encodeURIComponent(location.pathname + location.search)}`;
}

/** An error of the API, and what to do about it. */
export function errorNotice(error: ApiError): TemplateResult {
  const advice = adviceFor(error);
  return html`<div class="notice bad" role="alert">
    <p>${error.message} <small class="faint">${error.code}</small></p>
    ${error.refusals.map(({ code, detail }) => html`<p><code>${code}</code> ${detail}</p>`)}
    ${advice === null ? nothing : html`<p>${advice}</p>`}
    ${error.status === 401 ? html`<p><a class="button" href=${signInHref()} data-outside>Sign in again</a></p>` : nothing}
  </div>`;
}

/** The content of an empty list: its meaning, and the command that changes it. */
export function emptyState(text: string, command: string | null = null): TemplateResult {
  return html`<div class="empty">
    <p>${text}</p>
    ${command === null ? nothing : html`<pre tabindex="0"><code>${command}</code></pre>`}
  </div>`;
}
