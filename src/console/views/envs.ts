import { html, type TemplateResult } from 'lit-html';
import type { EnvCounts } from '../api/types.ts';
import { digest, rolloutBadge, toneBadge } from '../components/words.ts';
import { textOf } from '../components/dialog.ts';
import { emptyState } from '../components/notice.ts';
import { type Column, table } from '../components/lists.ts';
import type { Page, Visit } from '../components/page.ts';
import { countPresent } from '../core/backends.rules.ts';
import { hrefOf, may } from '../core/pages.rules.ts';

/** The envs that one may see. */
export const envsPage: Page = async (visit) => {
  const { envs } = await visit.api.fleet();
  return {
    title: 'Envs',
    topics: ['envs', 'backends', 'rollouts'],
    body: () =>
      html`<div class="heading">
          <h1>Envs</h1>
          ${may(visit.caller, 'admin', null) ? html`<button @click=${() => askForEnv(visit)}>New env</button>` : ''}
        </div>
        ${envTable(envs)}`,
  };
};

function envTable(envs: readonly EnvCounts[]): TemplateResult {
  const columns: Column<EnvCounts>[] = [
    { heading: 'Env', cell: envName },
    { heading: 'Hosts', isNumber: true, cell: ({ backends }) => countPresent(backends).toLocaleString('en') },
    { heading: 'Offline', isNumber: true, cell: ({ backends }) => (backends['offline'] ?? 0).toLocaleString('en') },
    { heading: 'Unhealthy', isNumber: true, cell: ({ sick }) => sick.toLocaleString('en') },
    { heading: 'Out of date', isNumber: true, cell: ({ behind }) => behind.toLocaleString('en') },
    { heading: 'Rollout', cell: ({ rollout }) => (rollout ? rolloutBadge(rollout.state) : '–') },
    { heading: 'Desired bundle', cell: ({ desired_sha }) => digest(desired_sha) },
  ];
  const empty = emptyState('There is no env that you may see. Create one:', 'deployctl env create NAME');
  return table({ caption: 'Envs', columns, rows: envs, keyOf: ({ name }) => name, empty });
}

function envName({ name, production }: EnvCounts): TemplateResult {
  return html`<a href=${hrefOf('env', { env: name })}>${name}</a> ${production ? toneBadge('idle', 'production') : ''}`;
}

function askForEnv({ ask, api }: Visit): void {
  ask({
    title: 'New env',
    body: html`<label
        >Name <input name="name" required pattern="[a-z0-9][a-z0-9\\-]{0,62}" autofocus spellcheck="false"
      /></label>
      <p class="hint">Lower-case letters, digits and hyphens, such as <code>eu-1</code>.</p>
      <label class="toggle"
        ><input type="checkbox" name="production" /> Production: hosts never remove its volumes</label
      >`,
    confirm: 'Create',
    done: 'The env is there.',
    work: (fields) => api.createEnv({ name: textOf(fields, 'name'), production: fields.get('production') !== null }),
  });
}
