import { html, noChange, nothing, type TemplateResult } from 'lit-html';
import type { Backend, BackendList, BackendState, EnvCounts } from '../api/types.ts';
import { swarmLink, troubleList } from '../components/backend.ts';
import { type Column, table } from '../components/lists.ts';
import { emptyState, type Page, textOf, type Visit } from '../components/page.ts';
import {
  conditionBadge,
  counts,
  digest,
  digestChange,
  labelList,
  rolloutBadge,
  timeAgo,
  toneBadge,
} from '../components/words.ts';
import {
  conditionOf,
  countByState,
  countPresent,
  deferralConditions,
  differingCondition,
  hostName,
  type HostRow,
  passingStates,
  rowsOf,
  stateConditions,
} from '../core/backends.rules.ts';
import {
  directionOf,
  filters,
  hrefOf,
  isFiltered,
  listQueryOf,
  may,
  sortedBy,
  withValues,
} from '../core/pages.rules.ts';
import { heldNotice } from './restore.ts';

/** Hosts by state and bundle: out of date, unhealthy. */
export const fleetPage: Page = async (visit) => {
  const { api, query } = visit;
  const [fleet, list, trouble] = await Promise.all([api.fleet(), api.backends(listQueryOf(query)), api.trouble()]);
  const { envs } = fleet;
  const env = query.get('env');
  const counted = env === null ? envs : envs.filter(({ name }) => name === env);
  return {
    title: 'Fleet',
    topics: ['backends', 'envs', 'rollouts'],
    body: (now) =>
      html`<h1>Fleet</h1>
        ${heldNotice(counted)} ${fleetCounts(counted, query, env)} ${runningRollouts(counted)}
        ${isFiltered(query) ? nothing : troubleList(trouble, now)}
        <h2>Hosts</h2>
        ${fleetFilter(envs, visit)} ${backendTable(list, visit, now)} ${pager(list, visit.query)}`,
  };
};

/** Counts of hosts by state and trouble; `env` is in the links if only one environment is counted. */
export function fleetCounts(
  envs: readonly EnvCounts[],
  query: URLSearchParams,
  env: string | null = null,
): TemplateResult {
  const byState = countByState(envs);
  const sum = (countOf: (env: EnvCounts) => number) => envs.reduce((total, env) => total + countOf(env), 0);
  const held = sum(({ deferred }) => deferred['hold'] ?? 0);
  const only = (name: string, value: string) => ({
    href: linkTo(new URLSearchParams({ ...(env !== null && { env }), [name]: value })),
    isCurrent: query.get(name) === value,
  });
  const stateCount = (state: BackendState) => ({
    ...{ name: state, count: byState[state] ?? 0, tone: stateConditions[state].tone, ...only('state', state) },
  });
  const own =
    env === null
      ? { href: hrefOf('fleet'), isCurrent: !isFiltered(query) }
      : { href: linkTo(new URLSearchParams({ env })), isCurrent: query.size === 1 && query.get('env') === env };
  const all = { name: 'hosts', count: countPresent(byState), ...own };
  return counts([
    { ...all, tone: 'idle' },
    stateCount('active'),
    { name: 'unhealthy', count: sum(({ sick }) => sick), tone: 'bad', ...only('sick', 'true') },
    stateCount('offline'),
    { name: 'out of date', count: sum(({ behind }) => behind), tone: 'later', ...only('behind', 'true') },
    ...[
      { name: 'cloned', count: sum((env) => env.cloned), tone: 'bad' as const, ...only('cloned', 'true') },
      {
        ...{ name: 'settings differ', count: sum(({ differing }) => differing), tone: 'bad' as const },
        ...only('differs', 'true'),
      },
      { name: 'paused', count: held, tone: 'later' as const, ...only('deferred_by', 'hold') },
      ...passingStates.map(stateCount),
    ].filter(({ count }) => count > 0),
  ]);
}

/** Rollouts that are at work, or that somebody must look at. */
function runningRollouts(envs: readonly EnvCounts[]): TemplateResult {
  const running = envs.flatMap(({ name, rollout }) => (rollout ? [{ name, state: rollout.state }] : []));
  return html`${running.map(
    ({ name, state }) =>
      html`<p class="running">
        Rollout of <a href=${hrefOf('env', { env: name })}>${name}</a> ${rolloutBadge(state)}
      </p>`,
  )}`;
}

function backendTable({ backends }: BackendList, { query }: Visit, now: number): TemplateResult {
  const sort = (column: string) => ({ direction: directionOf(query, column), href: linkTo(sortedBy(query, column)) });
  const columns: Column<HostRow<Backend>>[] = [
    { heading: 'Host', sort: sort('host_name'), cell: hostCell },
    { heading: 'Site', sort: sort('site'), cell: ({ host: { site } }) => site },
    { heading: 'Env', cell: ({ host: { env } }) => html`<a href=${hrefOf('env', { env })}>${env}</a>` },
    { heading: 'State', sort: sort('state'), cell: ({ host }) => stateCell(host) },
    { heading: 'Bundle', cell: bundleCell },
    { heading: 'Agent', sort: sort('agent_version'), cell: ({ host }) => host.agent_version ?? '–' },
    { heading: 'Last seen', sort: sort('last_seen_at'), cell: ({ host }) => timeAgo(host.last_seen_at, now) },
  ];
  const empty = isFiltered(query)
    ? emptyState('No host is like that. Clear the filter to see all.')
    : emptyState('There is no host yet. Create a backend for one:', 'deployctl host create --env ENV --site SITE');
  return table({ caption: 'Hosts', columns, rows: rowsOf(backends), keyOf: ({ host }) => host.id, empty });
}

function stateCell(backend: Backend): TemplateResult {
  const { deferred_by, differs } = backend;
  return html`<span
    >${conditionBadge(conditionOf(backend))}
    ${deferred_by === null ? nothing : conditionBadge(deferralConditions[deferred_by])}
    ${differs === null ? nothing : conditionBadge({ ...differingCondition, meaning: differs })}</span
  >`;
}

function hostCell({ host, isNested }: HostRow<Backend>): TemplateResult {
  const { id, labels } = host;
  return html`<span class=${isNested ? 'nested' : nothing}
    ><a href=${hrefOf('backend', { id })}>${hostName(host)}</a>
    ${host.host_name === null ? html`<code>${id.slice(0, 8)}</code>` : nothing} ${labelList(labels)}
    ${swarmLink(host)}</span
  >`;
}

/** The managers of a swarm have one desired bundle, which the first of them shows. */
function bundleCell({ host: { applied_sha, desired_sha }, isNested }: HostRow<Backend>): TemplateResult {
  return isNested ? html`<span class="faint">as its swarm</span>` : html`${digestChange(applied_sha, desired_sha)}`;
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

/** Milliseconds without a key after which a search begins. */
const TYPING_MS = 250;

let typing: ReturnType<typeof setTimeout> | null = null;

function stopTyping(): void {
  if (typing !== null) clearTimeout(typing);
  typing = null;
}

/** Search and filter of the list of hosts; they are in the address of the page. */
function fleetFilter(envs: readonly EnvCounts[], visit: Visit): TemplateResult {
  const { query } = visit;
  const swarm = query.get('swarm');
  const choose = (event: Event) => {
    stopTyping();
    visit.setQuery(withValues(query, valuesOf(event.currentTarget as HTMLFormElement)));
  };
  const type = (event: Event) => {
    const form = event.currentTarget as HTMLFormElement;
    stopTyping();
    typing = setTimeout(() => {
      typing = null;
      visit.setQuery(withValues(query, valuesOf(form)), { replace: true });
    }, TYPING_MS);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    choose(event);
  };
  return html`<form class="filter" role="search" aria-label="Hosts" @change=${choose} @input=${type} @submit=${submit}>
    <label class="wide"
      >Search
      <input
        type="search"
        name="q"
        .value=${typing === null ? (query.get('q') ?? '') : noChange}
        placeholder="name, site, label, id, version"
    /></label>
    ${select('env', 'Env', { query, values: envs.map(({ name }) => name) })}
    ${select('state', 'State', { query, values: Object.keys(stateConditions) })}
    ${select('deferred_by', 'Paused by', { query, values: Object.keys(deferralConditions) })}
    ${swarm === null ? nothing : select('swarm', 'Swarm', { query, values: [swarm] })}
    ${toggle('behind', 'Out of date', query)} ${toggle('sick', 'Unhealthy', query)}
    ${query.has('cloned') ? toggle('cloned', 'Cloned', query) : nothing} ${toggle('differs', 'Settings differ', query)}
    ${isFiltered(query) ? html`<a class="button quiet" href=${hrefOf('fleet')} data-keep>Clear</a>` : nothing}
  </form>`;
}

function valuesOf(form: HTMLFormElement): Record<string, string> {
  const fields = new FormData(form);
  return Object.fromEntries(filters.map((name) => [name, textOf(fields, name).trim()]));
}

function select(
  name: string,
  label: string,
  { query, values }: { query: URLSearchParams; values: readonly string[] },
): TemplateResult {
  const chosen = query.get(name) ?? '';
  return html`<label
    >${label}
    <select name=${name}>
      <option value="" .selected=${chosen === ''}>any</option>
      ${values.map((value) => html`<option .selected=${chosen === value}>${value}</option>`)}
    </select>
  </label>`;
}

function toggle(name: string, label: string, query: URLSearchParams): TemplateResult {
  return html`<label class="toggle"
    ><input type="checkbox" name=${name} value="true" .checked=${query.get(name) === 'true'} /> ${label}</label
  >`;
}

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
  const empty = emptyState('There is no environment that you may see. Create one:', 'deployctl env create NAME');
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
    done: 'The environment was created.',
    work: (fields) => api.createEnv({ name: textOf(fields, 'name'), production: fields.get('production') !== null }),
  });
}
