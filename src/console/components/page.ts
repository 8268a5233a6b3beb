import { html, nothing, type TemplateResult } from 'lit-html';
import type { Api, ApiError } from '../api/createApi.ts';
import type { Caller } from '../api/types.ts';
import { adviceFor } from '../core/pages.rules.ts';

/** A visit of a page: what it is about, and what it may do. */
export interface Visit {
  params: Record<string, string>;
  query: URLSearchParams;
  api: Api;
  caller: Caller;
  /** Goes to the same page with another query; `replace` leaves the one before out of the history. */
  setQuery: (query: URLSearchParams, options?: { replace: boolean }) => void;
  /** Does something, reports success, and loads the page again; reports the error if it fails. */
  act: (done: string, work: () => Promise<unknown>) => Promise<void>;
  /** Draws the page again with the loaded data. */
  redraw: () => void;
  /** Asks in a dialog, which stays open with the error while its work fails; then loads the page again. */
  ask: (content: DialogContent) => void;
}

/** A question with its fields, and what is done with the answers. */
export interface DialogContent {
  title: string;
  body: TemplateResult;
  /** The word on the button. */
  confirm: string;
  isDangerous?: boolean;
  /** The text that must be typed to confirm. */
  typed?: string;
  /** The message after success. */
  done: string;
  /** Validates the answers while they are typed. */
  judge?: (fields: FormData) => Judgement;
  /** Throws `ApiError`. */
  work: (fields: FormData) => Promise<unknown>;
}

/** The verdict of a form on its current input. */
export interface Judgement {
  /** The faults, by the names of fields; the form is not sent meanwhile. */
  problems: Readonly<Record<string, string>>;
  /** How it is understood, where nothing is wrong. */
  meaning?: string;
}

/** The content of a page. */
export interface PageContent {
  title: string;
  /** Topics of changes after which it is loaded again; without one, it is never loaded again by itself. */
  topics: readonly string[];
  /** Drawn again now and then for the sake of relative times; `now` in milliseconds since 1970. */
  body: (now: number) => TemplateResult;
}

/** A page loads what it shows. Throws `ApiError`. */
export type Page = (visit: Visit) => Promise<PageContent>;

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
