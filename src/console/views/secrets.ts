import { html, nothing, type TemplateResult } from 'lit-html';
import type { AuditEntry, Secret } from '../api/types.ts';
import { doomNotice } from '../components/backend.ts';
import { emptyState, type Page, textOf, type Visit } from '../components/page.ts';
import { type Column, table } from '../components/lists.ts';
import { fullTime } from '../components/words.ts';
import { hrefOf, may } from '../core/pages.rules.ts';
import { fieldRows, secretData, secretProblems } from '../core/forms.rules.ts';
import { auditTable } from './people.ts';

/** Entries of the audit log that are shown of each kind of change. */
const ENTRIES = '50';
const acts = ['secret.set', 'secret.delete'] as const;

/** The secrets of an env: names and versions, and who has changed them. Values go in, and never come out. */
export const secretsPage: Page = async (visit) => {
  const { api, caller, params } = visit;
  const { env = '' } = params;
  const isAdmin = may(caller, 'admin', env);
  const logs = isAdmin ? acts.map((act) => api.audit(new URLSearchParams({ env, act, limit: ENTRIES }))) : [];
  const [{ secrets, destroy_at: destroyAt }, ...found] = await Promise.all([api.secrets(env), ...logs]);
  const changes = found.flatMap(({ entries }) => entries).sort((one, other) => other.id - one.id);
  return {
    title: `Secrets of ${env}`,
    topics: ['secrets', 'envs', 'backends', 'audit'],
    body: (now) =>
      html`<p><a href=${hrefOf('env', { env })}>${env}</a></p>
        <div class="heading">
          <h1>Secrets</h1>
          ${
            may(caller, 'deployer', env)
              ? html`<button @click=${() => askForValue(visit, null)}>New secret</button>`
              : nothing
          }
        </div>
        ${doomNotice({ env, destroyAt }, { visit, now })} ${secretTable(secrets, visit, now)}
        ${isAdmin ? changeList(changes, env, now) : nothing}`,
  };
};

function secretTable(secrets: readonly Secret[], visit: Visit, now: number): TemplateResult {
  const { env = '' } = visit.params;
  const columns: Column<Secret>[] = [
    { heading: 'Name', cell: ({ key }) => html`<code>${key}</code>` },
    { heading: 'Version', isNumber: true, cell: ({ version }) => String(version) },
    {
      heading: 'Written',
      cell: ({ written_at }) => (written_at === null ? '–' : html`<span>${fullTime(written_at, now)}</span>`),
    },
    { heading: 'By', cell: ({ written_by }) => written_by ?? '–' },
    { heading: 'Change it', cell: (secret) => buttons(secret, visit) },
  ];
  const command = `deployctl secret set ${env} KEY --field value`;
  const empty = emptyState('The environment has no secret yet. Write one, from standard input:', command);
  return table({ caption: 'Secrets', columns, rows: secrets, keyOf: ({ key }) => key, empty });
}

function buttons({ key }: Secret, visit: Visit): TemplateResult {
  const { env = '' } = visit.params;
  const set = may(visit.caller, 'deployer', env)
    ? html`<button aria-label=${`New version of ${key}`} @click=${() => askForValue(visit, key)}>New version</button>`
    : '–';
  const destroy = may(visit.caller, 'admin', env)
    ? html`<button aria-label=${`Destroy ${key}`} @click=${() => askToDestroy(visit, key)}>Destroy</button>`
    : nothing;
  return html`<div class="actions">${set} ${destroy}</div>`;
}

function askForValue({ ask, api, params }: Visit, key: string | null): void {
  const { env = '' } = params;
  const name = html`<label
    >Name <input name="key" required pattern="[a-zA-Z0-9][a-zA-Z0-9_.\\-]{0,127}" autofocus spellcheck="false"
  /></label>`;
  ask({
    title: key === null ? 'New secret' : `New version of ${key}`,
    body: html`${key === null ? name : nothing}
      <p class="hint">Fields that you leave out keep their values. Nobody can read a value here, you neither.</p>
      ${fieldRows.map(fieldRow)}`,
    confirm: 'Write',
    done: 'The new version is written.',
    judge: (fields) => ({ problems: secretProblems(fields) }),
    work: (fields) => api.setSecret({ env, key: key ?? textOf(fields, 'key'), data: secretData(fields) }),
  });
}

/** One field; those after the first one are there for who needs them. */
function fieldRow(row: number): TemplateResult {
  const isFirst = row === 0;
  const inputs = html`<label
      >Field
      <input name=${`field-${row}`} ?required=${isFirst} .defaultValue=${isFirst ? 'value' : ''} spellcheck="false"
    /></label>
    <label>Value <textarea name=${`value-${row}`} ?required=${isFirst} rows="2" spellcheck="false"></textarea></label>`;
  return isFirst
    ? inputs
    : html`<details>
        <summary>Another field</summary>
        ${inputs}
      </details>`;
}

function askToDestroy({ ask, api, params }: Visit, key: string): void {
  const { env = '' } = params;
  ask({
    title: `Destroy ${key}?`,
    body: html`<p>All its versions are destroyed. A bundle that reads it can be applied no more.</p>`,
    confirm: 'Destroy',
    isDangerous: true,
    typed: key,
    done: 'The secret is destroyed.',
    work: () => api.deleteSecret(env, key),
  });
}

function changeList(changes: readonly AuditEntry[], env: string, now: number): TemplateResult {
  return html`<h2>Changes</h2>
    ${changes.length === 0 ? html`<p class="hint">No secret of the environment was changed here.</p>` : auditTable(changes, { now, query: new URLSearchParams({ env }) })}`;
}
