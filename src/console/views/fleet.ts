import { html, nothing, type TemplateResult } from 'lit-html';
import type { Backend, BackendList, Env } from '../api/types.ts';
import { conditionBadge } from '../components/badge.ts';
import { counts } from '../components/counts.ts';
import { digestChange } from '../components/digest.ts';
import { labelList } from '../components/labels.ts';
import { emptyState } from '../components/notice.ts';
import { table, type Column } from '../components/table.ts';
import { timeAgo } from '../components/time.ts';
import type { Page, Visit } from '../page.ts';
import { conditionOf, stateConditions } from '../rules/condition.ts';
import { countByState, countedStates, countPresent } from '../rules/fleetCounts.ts';
import { directionOf, isFiltered, listQueryOf, sortedBy, withValues } from '../rules/listQuery.ts';
import { hrefOf } from '../rules/routes.ts';
import { fleetFilter } from './fleetFilter.ts';

/** What is where, what is behind, what is sick. */
export const fleetPage: Page = async (visit) => {
  const [{ envs }, list] = await Promise.all([visit.api.envs(), visit.api.backends(listQueryOf(visit.query))]);
  return {
    title: 'Fleet',
    topics: ['backends', 'envs'],
    body: (now) =>
      html`<h1>Fleet</h1>
        ${stateCounts(envs, visit.query)} ${fleetFilter(envs, visit)} ${backendTable(list, visit, now)}
        ${pager(list, visit.query)}`,
  };
};

function stateCounts(envs: readonly Env[], query: URLSearchParams): TemplateResult {
  const byState = countByState(envs);
  const all = { name: 'hosts', count: countPresent(byState), tone: 'idle', href: hrefOf('fleet') } as const;
  const states = countedStates.map((state) => ({
    name: state,
    count: byState[state] ?? 0,
    tone: stateConditions[state].tone,
    href: linkTo(withValues(query, { state })),
    isCurrent: query.get('state') === state,
  }));
  return counts([{ ...all, isCurrent: !isFiltered(query) }, ...states]);
}

function backendTable({ backends }: BackendList, { query }: Visit, now: number): TemplateResult {
  const sort = (column: string) => ({ direction: directionOf(query, column), href: linkTo(sortedBy(query, column)) });
  const columns: Column<Backend>[] = [
    { heading: 'Host', sort: sort('site'), cell: hostCell },
    { heading: 'Env', cell: ({ env }) => html`<a href=${hrefOf('env', { env })}>${env}</a>` },
    { heading: 'State', sort: sort('state'), cell: (backend) => conditionBadge(conditionOf(backend)) },
    { heading: 'Bundle', cell: ({ applied_sha, desired_sha }) => digestChange(applied_sha, desired_sha) },
    { heading: 'Agent', sort: sort('agent_version'), cell: ({ agent_version }) => agent_version ?? '–' },
    { heading: 'Last seen', sort: sort('last_seen_at'), cell: ({ last_seen_at }) => timeAgo(last_seen_at, now) },
  ];
  const empty = isFiltered(query)
    ? emptyState('No host is like that. Clear the filter to see all.')
    : emptyState('There is no host yet. Create a backend for one:', 'deployctl backend create --env ENV --site SITE');
  return table({ caption: 'Hosts', columns, rows: backends, keyOf: ({ id }) => id, empty });
}

function hostCell({ id, site, labels }: Backend): TemplateResult {
  return html`<a href=${hrefOf('backend', { id })}>${site}</a> ${labelList(labels)}`;
}

function pager({ next }: BackendList, query: URLSearchParams): TemplateResult {
  const page = new URLSearchParams(query);
  page.set('after', next ?? '');
  return html`<nav class="pager" aria-label="Further hosts">
    ${query.has('after') ? html`<a class="button" href=${linkTo(withValues(query, {}))}>First page</a>` : nothing}
    ${next === null ? nothing : html`<a class="button" href=${linkTo(page)}>Next page</a>`}
  </nav>`;
}

function linkTo(query: URLSearchParams): string {
  return query.size === 0 ? hrefOf('fleet') : `${hrefOf('fleet')}?${query}`;
}
