import { html, nothing, type TemplateResult } from 'lit-html';
import type { BackendDetails } from '../api/types.ts';
import { conditionBadge, digestChange, facts, fullTime, labelList, toneBadge } from '../components/words.ts';
import {
  backendMachine,
  deferralNotices,
  managerTable,
  swarmLink,
  tickDetails,
  tickList,
} from '../components/backend.ts';
import { emptyState } from '../components/notice.ts';
import { type Page } from '../components/page.ts';
import { type Column, table } from '../components/lists.ts';
import { conditionOf, containerTone, outcomeTone } from '../core/backends.rules.ts';
import { hrefOf, may } from '../core/pages.rules.ts';

type Container = BackendDetails['containers'][number];

/** One host: its state, its containers, and its last ticks. */
export const backendPage: Page = async ({ api, caller, params: { id = '' } }) => {
  const [backend, { reports }] = await Promise.all([api.backend(id), api.reports(id)]);
  const ticks = (now: number) =>
    reports.length === 0
      ? emptyState('Its host has not reported a tick yet. See what it does there:', 'deployd status')
      : tickList(reports, now);
  return {
    title: backend.site,
    topics: ['backends'],
    body: (now) =>
      html`<h1>${backend.site}</h1>
        <p class="lead">${conditionBadge(conditionOf(backend))} ${conditionOf(backend).meaning}</p>
        ${deferralNotices(backend, now)}
        <div class="columns">
          <div>
            ${aboutBackend(backend, now)} ${may(caller, 'admin', backend.env) ? administration(backend) : nothing}
            ${troubleOf(backend)} ${managerTable(backend)}
            <h2>Containers</h2>
            ${
              backend.healthy === null && backend.last_seen_at !== null
                ? html`<p>As its host told at its last check-in, ${fullTime(backend.last_seen_at, now)}.</p>`
                : nothing
            }
            ${containerTable(backend)}
            <h2>Last ticks</h2>
            ${ticks(now)}
          </div>
          ${backendMachine(backend.state)}
        </div>`,
  };
};

function aboutBackend(backend: BackendDetails, now: number): TemplateResult {
  const { env, host, agent_version, transport } = backend;
  return facts([
    ['Env', html`<a href=${hrefOf('env', { env })}>${env}</a>`],
    ['Bundle', digestChange(backend.applied_sha, backend.desired_sha)],
    ['Last seen', fullTime(backend.last_seen_at, now)],
    ['In this state since', fullTime(backend.state_since, now)],
    ['Host', host === null ? '–' : `${host.name} (${host.os}, ${host.arch})`],
    ['Agent', agent_version === null ? '–' : `${agent_version}, ${transport}`],
    ['Labels', Object.keys(backend.labels).length === 0 ? '–' : labelList(backend.labels)],
    ...(backend.swarm === null ? [] : [['Swarm', html`${swarmLink(backend)} node ${backend.swarm.node}`] as const]),
    ['Id', html`<code>${backend.id}</code>`],
  ]);
}

function administration({ id, state }: BackendDetails): TemplateResult | typeof nothing {
  if (state === 'retired') return nothing;
  return html`<p>
    <a class="button" href=${hrefOf('kit', { id })}>Install kit</a>
    <a class="button" href=${hrefOf('retire', { id })}>Retire</a>
  </p>`;
}

/** The trouble of its host, by its newest report. */
function troubleOf({ trouble, last_report }: BackendDetails): TemplateResult | typeof nothing {
  if (trouble === null || last_report === null) return nothing;
  return html`<section class="trouble" aria-label="Trouble">
    ${toneBadge(outcomeTone(trouble), trouble)} ${tickDetails(last_report)}
  </section>`;
}

function containerTable({ containers, healthy }: BackendDetails): TemplateResult {
  const isKnown = healthy !== null;
  const columns: Column<Container>[] = [
    { heading: 'Service', cell: ({ service }) => service },
    { heading: 'State', cell: (container) => toneBadge(containerTone(container, isKnown), container.state) },
    { heading: 'Health', cell: ({ health }) => health ?? '–' },
    { heading: 'Exit code', isNumber: true, cell: ({ exit_code }) => exit_code ?? '–' },
    { heading: 'Name', cell: ({ name }) => html`<code>${name}</code>` },
  ];
  const empty = emptyState('The host has reported no containers.');
  return table({ caption: 'Containers', columns, rows: containers, keyOf: ({ name }) => name, empty });
}
