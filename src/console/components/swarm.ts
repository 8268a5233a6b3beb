import { html, nothing, type TemplateResult } from 'lit-html';
import type { Backend, BackendDetails } from '../api/types.ts';
import { stateConditions } from '../rules/condition.ts';
import { hrefOf } from '../rules/routes.ts';
import { conditionBadge } from './badge.ts';
import { table, type Column } from './table.ts';

/** Digits of the id of a swarm that are shown beside a host. */
const SHORT_ID = 8;

/** The swarm of a host, as a link to all of its managers. */
export function swarmLink({ swarm }: Pick<Backend, 'swarm'>): TemplateResult | typeof nothing {
  if (swarm === null) return nothing;
  const href = `${hrefOf('fleet')}?${new URLSearchParams({ swarm: swarm.id })}`;
  const word = swarm.leader ? 'leader of swarm' : 'swarm';
  return html`<a class="label" href=${href} title=${swarm.id}>${word} ${swarm.id.slice(0, SHORT_ID)}</a>`;
}

type Manager = BackendDetails['managers'][number];

/** The other managers of the swarm of a host; nothing where it has none. */
export function managerTable({ swarm, managers }: BackendDetails): TemplateResult | typeof nothing {
  if (swarm === null) return nothing;
  const columns: Column<Manager>[] = [
    { heading: 'Host', cell: ({ id, site }) => html`<a href=${hrefOf('backend', { id })}>${site}</a>` },
    { heading: 'State', cell: ({ state }) => conditionBadge(stateConditions[state]) },
    { heading: 'Leader', cell: ({ leader }) => (leader ? 'yes' : 'no') },
  ];
  const empty = html`<p>No other manager of its swarm has an agent in this env.</p>`;
  return html`<h2>Other managers of its swarm</h2>
    <p>All of them are to run one bundle; the agent on the leader acts.</p>
    ${table({ caption: 'Managers', columns, rows: managers, keyOf: ({ id }) => id, empty })}`;
}
