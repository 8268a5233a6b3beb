import { html, nothing, type TemplateResult } from 'lit-html';
import type { AuditEntry } from '../api/types.ts';
import { toneBadge } from '../components/badge.ts';
import { emptyState } from '../components/notice.ts';
import { table, type Column } from '../components/table.ts';
import { fullTime } from '../components/time.ts';
import type { Page, Visit } from '../page.ts';
import { resultTone } from '../rules/auditWords.ts';
import { hrefOf } from '../rules/routes.ts';

const ENTRIES = 50;

/** Every act on the envs that one administers, newest first. */
export const auditPage: Page = async (visit) => {
  const { query, api } = visit;
  const asked = new URLSearchParams({ limit: String(ENTRIES) });
  for (const name of ['env', 'before']) if (query.get(name)) asked.set(name, query.get(name) ?? '');
  const [{ entries, next }, { envs }] = await Promise.all([api.audit(asked), api.fleet()]);
  const names = envs.map(({ name }) => name);
  return {
    title: 'Audit log',
    // An older page stays as it is.
    topics: query.has('before') ? [] : ['audit'],
    body: (now) =>
      html`<h1>Audit log</h1>
        <p class="lead">Who has done what, newest first. Nothing in it is ever changed or removed.</p>
        ${envFilter(names, visit)} ${auditTable(entries, now)} ${pager(next, query)}`,
  };
};

function envFilter(names: readonly string[], { query, setQuery }: Visit): TemplateResult {
  const chosen = query.get('env') ?? '';
  const choose = (event: Event) => {
    const { value } = event.target as HTMLSelectElement;
    setQuery(new URLSearchParams(value === '' ? {} : { env: value }));
  };
  return html`<form class="filter" role="search" aria-label="Entries">
    <label
      >Env
      <select name="env" @change=${choose}>
        <option value="" .selected=${chosen === ''}>any</option>
        ${names.map((name) => html`<option .selected=${chosen === name}>${name}</option>`)}
      </select>
    </label>
  </form>`;
}

/** Entries of the audit log. */
export function auditTable(entries: readonly AuditEntry[], now: number): TemplateResult {
  const columns: Column<AuditEntry>[] = [
    { heading: 'Time', cell: ({ at }) => fullTime(at, now) },
    { heading: 'Who', cell: ({ actor }) => actor },
    { heading: 'Act', cell: ({ act }) => html`<code>${act}</code>` },
    { heading: 'On what', cell: ({ target }) => html`<span class="target">${target}</span>` },
    { heading: 'Env', cell: ({ env }) => env ?? '–' },
    { heading: 'From', cell: ({ address }) => address ?? 'the service' },
    { heading: 'Result', cell: ({ result }) => toneBadge(resultTone(result), result) },
  ];
  const empty = emptyState('No act is in the log yet. The same in a shell:', 'deployctl audit');
  return table({ caption: 'Acts', columns, rows: entries, keyOf: ({ id }) => String(id), empty });
}

function pager(next: number | null, query: URLSearchParams): TemplateResult {
  const env = query.get('env');
  const pageOf = (fields: Record<string, string>) =>
    `${hrefOf('audit')}?${new URLSearchParams({ ...(env === null ? {} : { env }), ...fields })}`;
  return html`<nav class="pager" aria-label="Further entries">
    ${query.has('before') ? html`<a class="button" href=${pageOf({})}>Newest</a>` : nothing}
    ${next === null ? nothing : html`<a class="button" href=${pageOf({ before: String(next) })}>Older</a>`}
  </nav>`;
}
