import { html, nothing, type TemplateResult } from 'lit-html';
import type { Operator, Session } from '../api/types.ts';
import { fullTime, timeAgo, toneBadge } from '../components/words.ts';
import { emptyState, type Page, type Visit } from '../components/page.ts';
import { type Column, table } from '../components/lists.ts';
import { may } from '../core/pages.rules.ts';

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
