import { html, nothing, type TemplateResult } from 'lit-html';
import type { AuditEntry } from '../api/types.ts';
import { fullTime, toneBadge } from '../components/words.ts';
import { textOf } from '../components/dialog.ts';
import { emptyState, type Page, type Visit } from '../components/page.ts';
import { type Column, table } from '../components/lists.ts';
import { auditQueryOf, filteredBy, isAuditFiltered, resultTone } from '../core/forms.rules.ts';
import { hrefOf } from '../core/pages.rules.ts';

const ENTRIES = 50;

/** Every act on the envs that one administers, newest first. */
export const auditPage: Page = async (visit) => {
  const { query, api } = visit;
  const [{ entries, next }, { envs }] = await Promise.all([api.audit(auditQueryOf(query, ENTRIES)), api.fleet()]);
  const names = envs.map(({ name }) => name);
  return {
    title: 'Audit log',
    // An older page is not changed.
    topics: query.has('before') ? [] : ['audit'],
    body: (now) =>
      html`<h1>Audit log</h1>
        <p class="lead">Who has done what, newest first.</p>
        ${auditFilter(names, visit)} ${auditTable(entries, { now, query })} ${pager(next, query)}`,
  };
};

function auditFilter(names: readonly string[], { query, setQuery }: Visit): TemplateResult {
  const chosen = query.get('env') ?? '';
  const choose = (event: Event) => {
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    const valueOf = (name: string) => textOf(fields, name).trim();
    setQuery(filteredBy(query, { env: valueOf('env'), actor: valueOf('actor'), act: valueOf('act') }));
  };
  const text = (name: 'actor' | 'act', label: string, placeholder: string) =>
    html`<label
      >${label}
      <input name=${name} .value=${query.get(name) ?? ''} placeholder=${placeholder} maxlength="512" spellcheck="false"
    /></label>`;
  return html`<form
    class="filter"
    role="search"
    aria-label="Entries"
    @change=${choose}
    @submit=${(event: Event) => event.preventDefault()}
  >
    <label
      >Env
      <select name="env">
        <option value="" .selected=${chosen === ''}>any</option>
        ${names.map((name) => html`<option .selected=${chosen === name}>${name}</option>`)}
      </select>
    </label>
    ${text('actor', 'Who', 'the whole name')} ${text('act', 'Act', 'such as secret.set')}
    ${isAuditFiltered(query) ? html`<a class="button quiet" href=${hrefOf('audit')} data-keep>Clear</a>` : nothing}
  </form>`;
}

/** Entries of the audit log; actor and action are links to entries with the same value. */
export function auditTable(
  entries: readonly AuditEntry[],
  { now, query }: { now: number; query: URLSearchParams },
): TemplateResult {
  const link = (values: { actor: string } | { act: string }, text: unknown) =>
    html`<a href=${hrefTo(filteredBy(query, values))}>${text}</a>`;
  const columns: Column<AuditEntry>[] = [
    { heading: 'Time', cell: ({ at }) => fullTime(at, now) },
    { heading: 'Who', cell: ({ actor }) => link({ actor }, html`<span class="target">${actor}</span>`) },
    { heading: 'Act', cell: ({ act }) => link({ act }, html`<code>${act}</code>`) },
    { heading: 'On what', cell: ({ target }) => html`<span class="target">${target}</span>` },
    {
      heading: 'Change',
      cell: ({ before, after }) =>
        after === null ? '–' : html`<span class="target">${before ?? '–'} → ${after}</span>`,
    },
    { heading: 'Env', cell: ({ env }) => env ?? '–' },
    { heading: 'From', cell: ({ address }) => address ?? 'the service' },
    {
      heading: 'Result',
      cell: ({ result, count }) => html`${toneBadge(resultTone(result), result)} ${count > 1 ? `×${count}` : nothing}`,
    },
  ];
  const empty = isAuditFiltered(query)
    ? emptyState('No act is like that. Clear the filter to see all.')
    : emptyState('No act is in the log yet. The same in a shell:', 'deployctl audit');
  return table({ caption: 'Acts', columns, rows: entries, keyOf: ({ id }) => String(id), empty });
}

function pager(next: number | null, query: URLSearchParams): TemplateResult {
  const older = filteredBy(query, {});
  older.set('before', String(next));
  return html`<nav class="pager" aria-label="Further entries">
    ${query.has('before') ? html`<a class="button" href=${hrefTo(filteredBy(query, {}))}>Newest</a>` : nothing}
    ${next === null ? nothing : html`<a class="button" href=${hrefTo(older)}>Older</a>`}
  </nav>`;
}

function hrefTo(query: URLSearchParams): string {
  return query.size === 0 ? hrefOf('audit') : `${hrefOf('audit')}?${query}`;
}
