import { html, render } from 'lit-html';
import type { Caller } from './api/types.ts';
import { Dialog } from './components/dialog.ts';
import type { Page } from './components/page.ts';
import { browserZone } from './components/words.ts';
import { base, type PageName } from './core/pages.rules.ts';
import { absoluteTime, zoneName } from './core/time.rules.ts';
import { Navigation } from './navigation.ts';
import { auditPage } from './views/audit.ts';
import { backendPage, kitPage, retirePage } from './views/backend.ts';
import { diffPage } from './views/diff.ts';
import { envPage } from './views/envs.ts';
import { envsPage, fleetPage } from './views/fleet.ts';
import { peoplePage } from './views/people.ts';
import { restorePage } from './views/restore.ts';
import { secretsPage } from './views/secrets.ts';

/** Milliseconds after which relative times are drawn again. */
const REDRAW_MS = 20_000;

/** Every page by its name. */
const pages: Record<PageName, Page> = {
  fleet: fleetPage,
  envs: envsPage,
  env: envPage,
  secrets: secretsPage,
  diff: diffPage,
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
  followChanges({ onChange: (topics) => void navigation.follow(topics), onLost: tellLost });
  void navigation.load();
}

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
      : `No connection since ${absoluteTime(new Date(since).toISOString(), browserZone())}: what is shown may be old. Trying again …`;
  place('connection').textContent = text;
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
  /** The stream was lost (since when, in milliseconds since 1970), or is there again (null). */
  onLost: (since: number | null) => void;
}

const FIRST_RETRY_MS = 1000;
const LONGEST_RETRY_MS = 30_000;

/**
 * Follows the stream of changes while the page is seen: a browser has six connections to a service, which tabs behind
 * others would keep from the one in front. Browsers resume a stream by themselves after a lost connection, but not
 * after an error response. Then it is opened again, with growing pauses.
 */
function followChanges({ onChange, onLost }: LiveListener): void {
  let lostSince: number | null = null;
  let retryMs = FIRST_RETRY_MS;
  let close = () => {};
  const open = () => {
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
      lostSince = null;
      onLost(null);
    });
    stream.addEventListener('change', ({ data }: MessageEvent<string>) => {
      onChange((JSON.parse(data) as { topics: string[] }).topics);
    });
    stream.addEventListener('error', () => {
      lostSince ??= Date.now();
      onLost(lostSince);
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
}

start();
