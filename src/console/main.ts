import { html, render } from 'lit-html';
import { ApiError, createApi } from './api/createApi.ts';
import type { Caller } from './api/types.ts';
import { Dialog, errorNotice, type Page, type PageContent, type Visit } from './components/page.ts';
import { browserZone } from './components/words.ts';
import { base, type PageName, routeOf } from './core/pages.rules.ts';
import { absoluteTime, shouldPoll, staleSince, steadyClock, zoneName } from './core/time.rules.ts';
import { backendPage, kitPage, retirePage } from './views/backend.ts';
import { diffPage, envPage } from './views/envs.ts';
import { envsPage, fleetPage } from './views/fleet.ts';
import { auditPage, peoplePage } from './views/people.ts';
import { restorePage } from './views/restore.ts';
import { rolloutPage } from './views/rollouts.ts';
import { secretsPage } from './views/secrets.ts';

/** Milliseconds after which relative times are drawn again. */
const REDRAW_MS = 20_000;

/** Measures the ages of signs of life. */
const steady = steadyClock(() => Date.now());

/** Every page by its name. */
const pages: Record<PageName, Page> = {
  fleet: fleetPage,
  envs: envsPage,
  env: envPage,
  secrets: secretsPage,
  diff: diffPage,
  rollout: rolloutPage,
  backend: backendPage,
  kit: kitPage,
  retire: retirePage,
  audit: auditPage,
  people: peoplePage,
  restore: restorePage,
};

/** Starts the console in the document that the service has sent (src/tenancy/console/consoleRoutes.ts). */
function start(): void {
  const main = place('page');
  const say = (text: string) => void (place('said').textContent = text);
  const caller = JSON.parse(main.dataset['caller'] ?? '') as Caller;
  main.replaceChildren();
  render(html`<p>Loading …</p>`, main);
  const navigation: Navigation = new Navigation({ pages, caller, main, say, dialog: () => dialog });
  const dialog = new Dialog(place('dialog') as HTMLDialogElement, (done) => {
    say(done);
    void navigation.load();
  });
  place('zone').textContent = `Times are in the zone ${zoneName(browserZone(), Date.now())}.`;
  document.addEventListener('click', (event) => follow(event, navigation));
  addEventListener('popstate', ({ state }) => void navigation.back(state));
  setInterval(() => navigation.draw(), REDRAW_MS);
  let stream = steady();
  let brokenSince: number | null = null;
  const reopenIfSilent = followChanges({
    onChange: (topics) => void navigation.follow(topics),
    onLife: () => {
      stream = steady();
      brokenSince = null;
    },
    onLost: () => void (brokenSince ??= steady()),
  });
  void navigation.load();
  setInterval(() => {
    const life = { stream, brokenSince, ...navigation.life() };
    tellLost(staleSince(life, steady()));
    if (document.hidden) return;
    reopenIfSilent();
    if (shouldPoll(life, steady())) void navigation.follow(null);
  }, WATCH_MS);
}

/** Milliseconds between two looks for signs of life; a tab that slept looks as soon as it runs again. */
const WATCH_MS = 1000;

/** Follows a link to a page of the console without loading the document again. */
function follow(event: MouseEvent, navigation: Navigation): void {
  const link = (event.target as Element).closest('a');
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (link === null || !isPlain || event.defaultPrevented || 'outside' in link.dataset) return;
  if (link.origin !== location.origin || !link.pathname.startsWith(base)) return;
  event.preventDefault();
  // A step in the history would load the page again, and with it lose what it has revealed.
  if (link.hash !== '') place(link.hash.slice(1)).focus();
  else void navigation.go(link.href, { keep: 'keep' in link.dataset });
}

function tellLost(since: number | null): void {
  const text =
    since === null
      ? ''
      : `No connection since ${absoluteTime(new Date(Date.now() - steady() + since).toISOString(), browserZone())}: what is shown may be old. Trying again …`;
  // A screen reader reads each change.
  if (place('connection').textContent !== text) place('connection').textContent = text;
}

/** A place of the document by its id. */
function place(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (element === null) throw new Error(`the document has no #${id}`);
  return element;
}

/** The reports about the stream of changes. */
interface LiveListener {
  /** Something of these topics has changed; null for anything, when the stream begins. */
  onChange: (topics: readonly string[] | null) => void;
  /** The stream has begun, or an event has arrived. */
  onLife: () => void;
  /** The stream was lost. */
  onLost: () => void;
}

/** Milliseconds after which a stream or a load is tried again that had no answer; doubled each time. */
const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;
/** Milliseconds without an event after which a stream counts as dead: connections get lost without an error. */
const SILENT_MS = 30_000;

/**
 * Follows the stream of changes while the page is seen: a browser has six connections to a service, which tabs behind
 * others would keep from the one in front. Browsers resume a stream by themselves after a lost connection, but not
 * after an error response. Then it is opened again, with growing pauses. Returns a function that opens a silent stream
 * again.
 */
function followChanges({ onChange, onLife, onLost }: LiveListener): () => void {
  let retryMs = FIRST_RETRY_MS;
  let heard = steady();
  let close = () => {};
  const live = () => {
    heard = steady();
    onLife();
  };
  const open = () => {
    heard = steady();
    const stream = new EventSource('/v1/events');
    let retry: ReturnType<typeof setTimeout> | undefined;
    close = () => {
      stream.close();
      clearTimeout(retry);
    };
    stream.addEventListener('open', () => {
      retryMs = FIRST_RETRY_MS;
      // Changes from before the connection are not announced.
      onChange(null);
      live();
    });
    stream.addEventListener('alive', live);
    stream.addEventListener('change', ({ data }: MessageEvent<string>) => {
      live();
      onChange((JSON.parse(data) as { topics: string[] }).topics);
    });
    stream.addEventListener('error', () => {
      onLost();
      if (stream.readyState !== EventSource.CLOSED) return;
      // A load shows why it was refused, for example because the session is over.
      onChange(null);
      retry = setTimeout(open, retryMs);
      retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS);
    });
  };
  const followWhileSeen = () => {
    close();
    if (!document.hidden) open();
  };
  document.addEventListener('visibilitychange', followWhileSeen);
  followWhileSeen();
  return () => {
    if (steady() - heard > SILENT_MS) followWhileSeen();
  };
}

/** Milliseconds after a load that follows a change, in which none follows another one. */
const FOLLOW_PAUSE_MS = 2000;

/** The parts that navigation works on. */
interface NavigationParts {
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
class Navigation {
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
  #loaded = steady();
  #awaitedSince: number | null = null;

  constructor(parts: NavigationParts) {
    this.#parts = parts;
  }

  /** When a load has succeeded last, and since when one waits for its answer, by the steady clock. */
  life(): { loaded: number; awaitedSince: number | null } {
    return { loaded: this.#loaded, awaitedSince: this.#awaitedSince };
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
    this.#awaitedSince ??= steady();
    try {
      const content = await this.#open(signal);
      if (signal.aborted) return false;
      this.#content = content;
      this.#error = null;
      this.#retryMs = FIRST_RETRY_MS;
      this.#loaded = steady();
      this.#awaitedSince = null;
    } catch (error) {
      if (signal.aborted) return false;
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'UNREACHABLE') this.#loadLater(signal);
      else {
        this.#content = null;
        this.#awaitedSince = null;
      }
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
      attempt: (work) => this.#act(null, work),
      redraw: () => this.draw(),
      ask: (content) => {
        this.#failure = null;
        this.#parts.dialog().open(content);
      },
    };
  }

  async #act(done: string | null, work: () => Promise<unknown>): Promise<void> {
    if (this.#isActing) return;
    this.#isActing = true;
    this.#failure = null;
    try {
      await work();
      if (done === null) return;
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

start();
