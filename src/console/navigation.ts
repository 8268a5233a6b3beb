import { html, render } from 'lit-html';
import { ApiError, createApi } from './api/createApi.ts';
import type { Caller } from './api/types.ts';
import type { Dialog } from './components/dialog.ts';
import { errorNotice, type Page, type PageContent, type Visit } from './components/page.ts';
import { base, type PageName, routeOf } from './core/pages.rules.ts';

/** Milliseconds after a load that follows a change, in which none follows another one. */
const FOLLOW_PAUSE_MS = 2000;
/** Milliseconds after which a load is tried again that had no answer; doubled each time. */
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;

/** The parts that navigation works on. */
export interface NavigationParts {
  pages: Record<PageName, Page>;
  caller: Caller;
  main: HTMLElement;
  dialog: () => Dialog;
  /** Announces a change to users who cannot see the page. */
  say: (text: string) => void;
}

/**
 * Shows the page of the address. One visit at a time: a new one ends the calls of the previous one, and its content
 * stays until the next page is there.
 */
export class Navigation {
  readonly #parts: NavigationParts;
  #visit = new AbortController();
  #content: PageContent | null = null;
  #error: ApiError | null = null;
  /** The error of the last action on this page, which later loads do not remove. */
  #failure: ApiError | null = null;
  #isActing = false;
  #loading: Promise<boolean> = Promise.resolve(true);
  #followed: 'no' | 'now' | 'again' = 'no';
  #retryMs = FIRST_RETRY_MS;

  constructor(parts: NavigationParts) {
    this.#parts = parts;
  }

  /** Loads the page of the address; true once it is shown, false if another visit came first. */
  load(): Promise<boolean> {
    this.#loading = this.#load();
    return this.#loading;
  }

  /** Goes to another address and begins its page at its top; `keep` leaves focus and place as they are. */
  async go(href: string, { keep = false, replace = false } = {}): Promise<void> {
    history.replaceState({ top: scrollY }, '');
    if (replace) history.replaceState(null, '', href);
    else history.pushState(null, '', href);
    this.#failure = null;
    if (!(await this.load()) || keep) return;
    scrollTo(0, 0);
    this.#parts.main.focus({ preventScroll: true });
    this.#parts.say(document.title);
  }

  /** After a step in the history: the page, where it was left. */
  async back(state: unknown): Promise<void> {
    this.#parts.dialog().close();
    this.#failure = null;
    if (!(await this.load())) return;
    const top = typeof state === 'object' && state !== null && 'top' in state ? Number(state.top) : 0;
    scrollTo(0, top);
  }

  /**
   * Loads the page again if changes of these topics concern it; null for any change. It waits for a visit that is
   * loading, and after each load for a while, so that a busy fleet is not asked for all the time. A page that came
   * meanwhile and follows nothing, such as the page of a kit, is not changed.
   */
  async follow(topics: readonly string[] | null): Promise<void> {
    if (this.#followsNothing()) return;
    const concerned = this.#content?.topics ?? null;
    if (topics !== null && concerned !== null && !topics.some((topic) => concerned.includes(topic))) return;
    if (this.#followed !== 'no') {
      this.#followed = 'again';
      return;
    }
    do {
      this.#followed = 'now';
      await this.#loading;
      if (!this.#followsNothing()) await this.load();
      await new Promise((resolve) => setTimeout(resolve, FOLLOW_PAUSE_MS));
    } while (this.#wasChanged());
    this.#followed = 'no';
  }

  /** Draws what was loaded last, with the times as they are now. */
  draw(): void {
    const title = this.#content?.title ?? (this.#error?.status === 404 ? 'Not here' : 'Console');
    document.title = `${title} · deployd`;
    const errors = [this.#failure, this.#error].map((error) => error && errorNotice(error));
    render(html`${errors}${this.#content?.body(Date.now()) ?? html`<h1>${title}</h1>`}`, this.#parts.main);
    markCurrent();
  }

  #followsNothing(): boolean {
    return this.#content?.topics.length === 0;
  }

  /** Whether something has changed since the last load began that follows a change. */
  #wasChanged(): boolean {
    return this.#followed === 'again';
  }

  async #load(): Promise<boolean> {
    this.#visit.abort();
    this.#visit = new AbortController();
    const { signal } = this.#visit;
    this.#parts.main.ariaBusy = 'true';
    try {
      const content = await this.#open(signal);
      if (signal.aborted) return false;
      this.#content = content;
      this.#error = null;
      this.#retryMs = FIRST_RETRY_MS;
    } catch (error) {
      if (signal.aborted) return false;
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'UNREACHABLE') this.#loadLater(signal);
      else this.#content = null;
      this.#error = error;
    }
    this.#parts.main.ariaBusy = 'false';
    this.draw();
    return true;
  }

  /** A load may fail while the stream of changes continues: browsers cancel calls when a network interface changes. */
  #loadLater(signal: AbortSignal): void {
    setTimeout(() => {
      if (!signal.aborted) void this.load();
    }, this.#retryMs);
    this.#retryMs = Math.min(2 * this.#retryMs, LONGEST_RETRY_MS);
  }

  async #open(signal: AbortSignal): Promise<PageContent> {
    const route = routeOf(location.pathname);
    if (route === null) throw new ApiError({ status: 404, code: 'NOT_FOUND', message: 'the console has no such page' });
    return this.#parts.pages[route.page](this.#visitOf(route.params, signal));
  }

  #visitOf(params: Record<string, string>, signal: AbortSignal): Visit {
    const { pathname } = location;
    return {
      params,
      query: new URLSearchParams(location.search),
      api: createApi(signal),
      caller: this.#parts.caller,
      setQuery: (query, options) => {
        if (location.pathname === pathname) void this.go(addressOf(query), { keep: true, ...options });
      },
      act: (done, work) => this.#act(done, work),
      redraw: () => this.draw(),
      ask: (content) => this.#parts.dialog().open(content),
    };
  }

  async #act(done: string, work: () => Promise<unknown>): Promise<void> {
    if (this.#isActing) return;
    this.#isActing = true;
    this.#failure = null;
    try {
      await work();
      this.#parts.say(done);
      await this.load();
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#failure = error;
      this.draw();
      scrollTo(0, 0);
    } finally {
      this.#isActing = false;
    }
  }
}

function addressOf(query: URLSearchParams): string {
  return query.size === 0 ? location.pathname : `${location.pathname}?${query}`;
}

/** Marks the page of the navigation to which the address belongs. */
function markCurrent(): void {
  for (const link of document.querySelectorAll<HTMLAnchorElement>('header nav a')) {
    const isCurrent = link.pathname === base ? location.pathname === base : location.pathname.startsWith(link.pathname);
    link.ariaCurrent = isCurrent ? 'page' : null;
  }
}
