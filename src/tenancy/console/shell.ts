import { consolePath, scriptPath, signOutPath, stylePath } from '../rules/consolePaths.ts';
import { viewCaller } from '../services/authenticateOperator.ts';
import type { Operator } from '../services/operator.ts';
import { html } from './html.ts';
import { frameOf } from './page.ts';

/** The pages of the navigation. */
const links = [
  ['', 'Fleet'],
  ['envs', 'Envs'],
  ['audit', 'Audit log'],
  ['people', 'People'],
] as const;

/**
 * The document around every page of the browser program (src/console): navigation, who has signed in, and the places that
 * the program fills. `version` is that of the program.
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
