import { html, noChange, nothing, type TemplateResult } from 'lit-html';
import type { EnvCounts } from '../api/types.ts';
import { textOf } from '../components/dialog.ts';
import type { Visit } from '../components/page.ts';
import { deferralConditions, stateConditions } from '../core/backends.rules.ts';
import { filters, hrefOf, isFiltered, withValues } from '../core/pages.rules.ts';

/** Milliseconds without a key after which a search begins. */
const TYPING_MS = 250;

let typing: ReturnType<typeof setTimeout> | null = null;

function stopTyping(): void {
  if (typing !== null) clearTimeout(typing);
  typing = null;
}

/** Search and filter of the list of hosts; they stand in the address of the page. */
export function fleetFilter(envs: readonly EnvCounts[], visit: Visit): TemplateResult {
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
        placeholder="site, label, id, version"
    /></label>
    ${select('env', 'Env', { query, values: envs.map(({ name }) => name) })}
    ${select('state', 'State', { query, values: Object.keys(stateConditions) })}
    ${select('deferred_by', 'Paused by', { query, values: Object.keys(deferralConditions) })}
    ${swarm === null ? nothing : select('swarm', 'Swarm', { query, values: [swarm] })}
    ${toggle('behind', 'Out of date', query)} ${toggle('sick', 'Unhealthy', query)}
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
