import { html, nothing, type TemplateResult } from 'lit-html';
import { ApiError } from '../api/request.ts';
import type { BackendDetails, InstallKit } from '../api/types.ts';
import { copyable, type Copying, facts, fullTime } from '../components/words.ts';
import { errorNotice } from '../components/notice.ts';
import type { Page } from '../components/page.ts';
import { kitFiles, supersedes } from '../core/forms.rules.ts';
import { hrefOf } from '../core/pages.rules.ts';

/** What the host of a backend is installed with: shown once, when it is asked for, and kept by this page alone. */
export const kitPage: Page = async (visit) => {
  const backend = await visit.api.backend(visit.params['id'] ?? '');
  let shown: InstallKit | ApiError | null = null;
  let isBusy = false;
  const reveal = async () => {
    // A second kit would supersede the first.
    isBusy = true;
    visit.redraw();
    shown = await visit.api.revealKit(backend.id).catch((error: unknown) => {
      if (error instanceof ApiError) return error;
      throw error;
    });
    isBusy = false;
    visit.redraw();
  };
  const copying: Copying = { told: null, redraw: visit.redraw };
  return {
    title: `Install kit of ${backend.site}`,
    topics: [],
    body: (now) =>
      html`<p><a href=${hrefOf('backend', { id: backend.id })}>${backend.site}</a></p>
        <h1>Install kit</h1>
        ${shown instanceof ApiError ? errorNotice(shown) : nothing}
        ${shown === null || shown instanceof ApiError ? offer(backend, { reveal, isBusy }) : kitView(shown, copying, now)}`,
  };
};

function offer(
  backend: BackendDetails,
  { reveal, isBusy }: { reveal: () => Promise<void>; isBusy: boolean },
): TemplateResult {
  return html`<p class="lead">${supersedes(backend)}</p>
    <p class="hint">It holds credentials and is shown once. Leave the page when the host has them.</p>
    <p><button class="primary" ?disabled=${isBusy} @click=${() => void reveal()}>Reveal the kit</button></p>`;
}

function kitView(kit: InstallKit, copying: Copying, now: number): TemplateResult {
  return html`<div role="status"><p class="notice later">Shown this once. It is gone when you leave the page.</p></div>
    ${facts([
      ['Holds until', fullTime(kit.expires_at, now)],
      ['Package', kit.base_url === null ? kit.version : html`<code>${kit.base_url}/${kit.version}</code>`],
    ])}
    <h2>Run on the host</h2>
    <p class="hint">In a directory with the files below and the installer.</p>
    ${copyable({ name: 'command', text: kit.command }, copying)}
    ${kitFiles(kit).map(
      (file) =>
        html`<h2>${file.name}</h2>
          ${copyable(file, copying)}`,
    )}`;
}
