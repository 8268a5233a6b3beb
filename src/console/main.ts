import { html, render } from 'lit-html';
import type { Caller } from './api/types.ts';
import { Dialog } from './components/dialog.ts';
import { browserZone } from './components/words.ts';
import { followChanges } from './live.ts';
import { Navigation } from './navigation.ts';
import { pages } from './pages.ts';
import { base } from './core/pages.rules.ts';
import { absoluteTime, zoneName } from './core/time.rules.ts';

/** Milliseconds after which relative times are drawn again. */
const REDRAW_MS = 20_000;

/** Starts the console in the document that the service has sent (src/tenancy/console/pages.ts). */
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

/** Follows a link to a page of the console without loading the document anew. */
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

start();
