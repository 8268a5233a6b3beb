import { html, nothing, type TemplateResult } from 'lit-html';
import type { AuditEntry, Operator, Session } from '../api/types.ts';
import { digest, fullTime, timeAgo, toneBadge } from '../components/words.ts';
import { emptyState, type Page, textOf, type Visit } from '../components/page.ts';
import { type Column, table } from '../components/lists.ts';
import { auditQueryOf, filteredBy, idKind, isAuditFiltered, resultTone } from '../core/forms.rules.ts';
import { hrefOf, may } from '../core/pages.rules.ts';

/** Users who have signed in, and valid tokens. */
export const peoplePage: Page = async (visit) => {
  const { api, caller } = visit;
  const isAdmin = may(caller, 'admin', null);
  const [{ sessions }, operators] = await Promise.all([
    api.sessions(),
    isAdmin ? api.operators().then((list) => list.operators) : null,
  ]);
  return {
    title: 'People',
    topics: ['people'],
    body: (now) =>
      html`<h1>People</h1>
        <h2>Sessions</h2>
        ${isAdmin ? nothing : html`<p class="hint">Your own; an administrator of all environments sees those of everybody.</p>`}
        ${sessionTable(sessions, visit, now)} ${operators === null ? nothing : tokens(operators, visit, now)}`,
  };
};

const methods: Record<Session['method'], string> = { openid: 'provider,', token: 'token of' };

function sessionTable(sessions: readonly Session[], visit: Visit, now: number): TemplateResult {
  const columns: Column<Session>[] = [
    { heading: 'Who', cell: ({ name, current }) => html`${name} ${current ? toneBadge('good', 'this one') : ''}` },
    { heading: 'Signed in by', cell: ({ method, subject }) => html`${methods[method]} <code>${subject}</code>` },
    { heading: 'Role', cell: ({ role, envs }) => roleText(role, envs) },
    { heading: 'From', cell: ({ address }) => address },
    { heading: 'Last used', cell: ({ last_used_at }) => timeAgo(last_used_at, now) },
    { heading: 'Ends', cell: ({ expires_at }) => html`<span>${fullTime(expires_at, now)}</span>` },
    { heading: 'End it', cell: (session) => endButton(session, visit) },
  ];
  const empty = emptyState('Nobody has signed in. The same in a shell:', 'deployctl session list');
  return table({ caption: 'Sessions', columns, rows: sessions, keyOf: ({ id }) => id, empty });
}

function endButton({ id, name, current }: Session, { ask, api }: Visit): TemplateResult {
  const end = () =>
    ask({
      title: `End the session of ${name}?`,
      body: html`<p>${current ? 'It is your own: you are signed out here.' : 'They are signed out at once.'}</p>`,
      confirm: 'End the session',
      isDangerous: true,
      done: 'The session has ended.',
      work: () => api.endSession(id),
    });
  return html`<button aria-label=${`End the session of ${name}`} @click=${end}>End</button>`;
}

function tokens(operators: readonly Operator[], visit: Visit, now: number): TemplateResult {
  const columns: Column<Operator>[] = [
    { heading: 'Name', cell: (operator) => nameCell(operator) },
    { heading: 'Role', cell: ({ role, envs }) => roleText(role, envs) },
    { heading: 'Last used', cell: ({ last_used_at }) => timeAgo(last_used_at, now) },
    {
      heading: 'Ends',
      cell: ({ expires_at }) => (expires_at === null ? 'never' : html`<span>${fullTime(expires_at, now)}</span>`),
    },
    { heading: 'Revoke it', cell: (operator) => revokeButton(operator, visit) },
  ];
  const empty = emptyState('There is no token. Make one:', 'deployctl operator create NAME --role deployer');
  return html`<h2>Tokens</h2>
    ${table({ caption: 'Tokens', columns, rows: operators, keyOf: ({ id }) => id, empty })}`;
}

function nameCell({ name, display_name: shown, break_glass: isForEmergencies }: Operator): TemplateResult {
  return html`${name} ${shown === null ? '' : html`<span class="target">${shown}</span>`}
  ${isForEmergencies ? toneBadge('later', 'break-glass') : ''}`;
}

function revokeButton({ id, name }: Operator, { ask, api }: Visit): TemplateResult {
  const revoke = () =>
    ask({
      title: `Revoke the token ${name}?`,
      body: html`<p>Whatever uses it is refused from now on. It does not come back.</p>`,
      confirm: 'Revoke',
      isDangerous: true,
      typed: name,
      done: 'The token is revoked.',
      work: () => api.revokeOperator(id),
    });
  return html`<button aria-label=${`Revoke the token ${name}`} @click=${revoke}>Revoke</button>`;
}

function roleText(role: string | null, envs: readonly string[] | null): string {
  if (role === null) return 'none any more';
  return envs === null ? `${role} of all environments` : `${role} of ${envs.join(', ')}`;
}

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
        ${auditFilter(names, visit)} ${auditTable(entries, { now, query })} ${auditPager(next, query)}`,
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
    ${text('actor', 'Who', 'the whole name')} ${text('act', 'Action', 'such as secret.set')}
    ${isAuditFiltered(query) ? html`<a class="button quiet" href=${hrefOf('audit')} data-keep>Clear</a>` : nothing}
  </form>`;
}

/** Entries of the audit log; actor and action are links to entries with the same value. */
export function auditTable(
  entries: readonly AuditEntry[],
  { now, query }: { now: number; query: URLSearchParams },
): TemplateResult {
  const link = (values: { actor: string } | { act: string }, text: unknown) =>
    html`<a href=${auditHref(filteredBy(query, values))}>${text}</a>`;
  const columns: Column<AuditEntry>[] = [
    { heading: 'Time', cell: ({ at }) => fullTime(at, now) },
    { heading: 'Who', cell: ({ actor }) => link({ actor }, html`<span class="target">${actor}</span>`) },
    { heading: 'Action', cell: ({ act }) => link({ act }, html`<code>${act}</code>`) },
    {
      heading: 'On what',
      cell: ({ act, target, env }) => html`<span class="target">${linkedIds(target, act, env)}</span>`,
    },
    {
      heading: 'Change',
      cell: ({ before, after }) =>
        after === null
          ? '–'
          : html`<span class="target">${shortDigests(before ?? '–')} → ${shortDigests(after)}</span>`,
    },
    {
      heading: 'Env',
      cell: ({ env }) => (env === null ? '–' : html`<a href=${hrefOf('env', { env })}>${env}</a>`),
    },
    { heading: 'From', cell: ({ address }) => address ?? 'the service' },
    {
      heading: 'Result',
      cell: ({ result, count }) => html`${toneBadge(resultTone(result), result)} ${count > 1 ? `×${count}` : nothing}`,
    },
  ];
  const empty = isAuditFiltered(query)
    ? emptyState('No action matches. Clear the filter to see all.')
    : emptyState('No action is in the log yet. The same in a shell:', 'deployctl audit');
  return table({ caption: 'Actions', columns, rows: entries, keyOf: ({ id }) => String(id), empty });
}

function auditPager(next: number | null, query: URLSearchParams): TemplateResult {
  const older = filteredBy(query, {});
  older.set('before', String(next));
  return html`<nav class="pager" aria-label="Further entries">
    ${query.has('before') ? html`<a class="button" href=${auditHref(filteredBy(query, {}))}>Newest</a>` : nothing}
    ${next === null ? nothing : html`<a class="button" href=${auditHref(older)}>Older</a>`}
  </nav>`;
}

function auditHref(query: URLSearchParams): string {
  return query.size === 0 ? hrefOf('audit') : `${hrefOf('audit')}?${query}`;
}

/** A target whose ids of hosts and digests of bundles are links; digests are short. */
function linkedIds(target: string, act: string, env: string | null): unknown[] {
  return target.split(' ').flatMap((word, index) => [index === 0 ? '' : ' ', linkedId(word, act, env)]);
}

/** A text whose digests are short; the title of each has the whole digest. */
function shortDigests(text: string): unknown[] {
  return text.split(/\b([0-9a-f]{64})\b/).map((part, index) => (index % 2 === 0 ? part : digest(part)));
}

function linkedId(word: string, act: string, env: string | null): unknown {
  const name = idKind(word, act, env);
  if (name === 'host') return html`<a href=${hrefOf('backend', { id: word })}>${word}</a>`;
  if (name !== 'bundle' || env === null) return shortDigests(word);
  return html`<a href=${`${hrefOf('diff', { env })}?${new URLSearchParams({ to: word })}`}>${digest(word)}</a>`;
}
