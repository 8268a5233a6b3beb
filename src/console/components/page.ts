import type { TemplateResult } from 'lit-html';
import type { Api } from '../api/createApi.ts';
import type { Caller } from '../api/types.ts';
import type { DialogContent } from './dialog.ts';

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
