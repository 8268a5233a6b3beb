import { html, nothing, svg, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import { unsafeSVG } from 'lit-html/directives/unsafe-svg.js';
import picture from '../../../docs/machines/backend.svg';
import type { Backend, BackendDetails, HostCopy, ReceivedReport, Trouble, TroubleGroup } from '../api/types.ts';
import {
  causeWords,
  explain,
  hostName,
  hostsThat,
  outcomeTone,
  stateConditions,
  withoutColours,
} from '../core/backends.rules.ts';
import { hrefOf, may } from '../core/pages.rules.ts';
import { durationText, segmentsOf, totalOf } from '../core/time.rules.ts';
import { type Column, table } from './lists.ts';
import type { Visit } from './page.ts';
import { conditionBadge, digestChange, facts, fullTime, toneBadge } from './words.ts';

/** The reason why the changes of a host are deferred, by its newest check-in: an operator's hold, or closed windows. */
export function deferralNotices({ hold, window_opens_at: opening }: BackendDetails, now: number): TemplateResult {
  return html`${
    hold === undefined
      ? nothing
      : html`<div class="notice later">
          <p>
            ${hold.by ?? 'An operator'} holds it
            ${hold.since === undefined ? nothing : html`since ${fullTime(hold.since, now)},`} until
            ${fullTime(hold.until, now)} at most${hold.reason && `: ${hold.reason}`}
          </p>
          <p>Nothing is applied, healed or taken down on it until then.</p>
        </div>`
  }${
    opening === undefined
      ? nothing
      : html`<div class="notice later">
          <p>Its windows are closed; the next one opens ${fullTime(opening, now)}.</p>
        </div>`
  }`;
}

/** When the secrets of an environment without hosts are destroyed, and a button that keeps them. */
export function doomNotice(
  { env, destroyAt }: { env: string; destroyAt: string | null },
  { visit, now }: { visit: Visit; now: number },
): TemplateResult | typeof nothing {
  if (destroyAt === null) return nothing;
  const keep = () => void visit.act('The secrets are kept.', () => visit.api.keepSecrets(env));
  return html`<div class="notice bad">
    <p>The last host of ${env} is retired: its secrets are destroyed ${fullTime(destroyAt, now)}.</p>
    ${may(visit.caller, 'deployer', env) ? html`<p><button @click=${keep}>Keep the secrets</button></p>` : nothing}
  </div>`;
}

/** Causes that are shown at once; the others are folded. */
const SHOWN_CAUSES = 8;

/** Hosts in trouble by cause, the worst first, with the reason and the last lines of output. */
export function troubleList({ groups, ...rest }: Trouble, now: number): TemplateResult | typeof nothing {
  if (groups.length === 0) return nothing;
  const [shown, folded] = [groups.slice(0, SHOWN_CAUSES), groups.slice(SHOWN_CAUSES)];
  const list = (some: readonly TroubleGroup[]) =>
    html`<ol class="causes">
      ${repeat(some, groupKey, (group) => html`<li>${troubleGroup(group, now)}</li>`)}
    </ol>`;
  return html`<section aria-labelledby="wrong">
    <h2 id="wrong">What is wrong</h2>
    ${list(shown)}
    ${
      folded.length === 0
        ? nothing
        : html`<details>
            <summary>${folded.length} more causes</summary>
            ${list(folded)}
          </details>`
    }
    ${missingCauses(rest)}
  </section>`;
}

/** Says how much the list lacks. */
function missingCauses({ more_groups, more_hosts }: Omit<Trouble, 'groups'>): TemplateResult | typeof nothing {
  const parts = [
    ...(more_groups === 0 ? [] : [countOf(more_groups, 'more cause')]),
    ...(more_hosts === 0 ? [] : [`the causes of ${countOf(more_hosts, 'more host')}`]),
  ];
  if (parts.length === 0) return nothing;
  return html`<p class="hint">Not listed: ${parts.join(', and ')}. The fleet lists every host.</p>`;
}

function countOf(number: number, what: string): string {
  return `${number.toLocaleString('en')} ${what}${number === 1 ? '' : 's'}`;
}

/** Keeps the focus and a selection in a group, whatever comes before it. */
function groupKey({ env, cause, code, detail }: TroubleGroup): string {
  return JSON.stringify([env, cause, code, detail]);
}

function troubleGroup(
  { env, cause, code, detail, output, since, count, hosts }: TroubleGroup,
  now: number,
): TemplateResult {
  const { tone, one, many, filter } = causeWords[cause];
  const all = `${hrefOf('fleet')}?${new URLSearchParams({ env, ...filter })}`;
  const isSilent = code === null && detail === null && output === null;
  // Only one host has written these words.
  const [speaker] = hosts;
  return html`<p>
      ${toneBadge(tone, cause)} <strong>${hostsThat(count, one, many)}</strong> in
      <a href=${hrefOf('env', { env })}>${env}</a>, since ${fullTime(since, now)}
    </p>
    ${isSilent || speaker === undefined ? nothing : html`<p><strong>${hostName(speaker)}</strong> reports: ${reasonLine({ code, detail })}</p>`}
    ${output === null ? nothing : outputBlock(output)}
    <p>
      ${repeat(
        hosts,
        ({ id }) => id,
        (host) => html`<a class="button host" href=${hrefOf('backend', { id: host.id })}>${hostName(host)}</a> `,
      )}
      ${count > hosts.length ? html`<a href=${all}>and ${(count - hosts.length).toLocaleString('en')} more</a>` : nothing}
    </p>`;
}

/** The code of a failure, and its detail. */
function reasonLine({ code, detail }: Pick<ReceivedReport, 'code' | 'detail'>): TemplateResult {
  return html`${code === null ? nothing : html`<code>${code}</code> `}${detail ?? ''}`;
}

function outputBlock(output: string): TemplateResult {
  return html`<pre tabindex="0" aria-label="End of the output"><code>${withoutColours(output)}</code></pre>`;
}

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
    { heading: 'Host', cell: (host) => html`<a href=${hrefOf('backend', { id: host.id })}>${hostName(host)}</a>` },
    { heading: 'Site', cell: ({ site }) => site },
    { heading: 'State', cell: ({ state }) => conditionBadge(stateConditions[state]) },
    { heading: 'Leader', cell: ({ leader }) => (leader ? 'yes' : 'no') },
  ];
  const empty = html`<p>No other manager of its swarm has an agent in this environment.</p>`;
  return html`<h2>Other managers of its swarm</h2>
    <p>All of them are to run one bundle; the agent on the leader acts.</p>
    ${table({ caption: 'Managers', columns, rows: managers, keyOf: ({ id }) => id, empty })}`;
}

/**
 * The hosts that have used the token of a backend, while somebody must decide or has decided between them; `accept`
 * makes the button of one, for those who may.
 */
export function copyTable(
  { copies, cloned_at }: BackendDetails,
  { now, accept }: { now: number; accept: ((copy: HostCopy) => TemplateResult) | null },
): TemplateResult | typeof nothing {
  if (!copies.some(({ role }) => role === 'contending' || role === 'refused')) return nothing;
  const columns: Column<HostCopy>[] = [
    { heading: 'Host name', cell: ({ name }) => name },
    { heading: 'Address', cell: ({ address }) => address ?? '–' },
    {
      heading: 'Boot',
      cell: ({ boot }) => html`<code title=${boot ?? nothing}>${boot?.slice(0, SHORT_ID) ?? '–'}</code>`,
    },
    {
      heading: 'Machine',
      cell: ({ machine }) => html`<code title=${machine ?? nothing}>${machine?.slice(0, SHORT_ID) ?? '–'}</code>`,
    },
    { heading: 'First seen', cell: ({ first_seen_at }) => fullTime(first_seen_at, now) },
    { heading: 'Last seen', cell: ({ last_seen_at }) => fullTime(last_seen_at, now) },
    { heading: 'Role', cell: ({ role }) => toneBadge(copyTones[role], role) },
    ...(accept === null
      ? []
      : [
          {
            heading: 'Decide',
            cell: (copy: HostCopy) => (copy.role === 'accepted' || copy.role === 'superseded' ? nothing : accept(copy)),
          },
        ]),
  ];
  const hint =
    cloned_at === null
      ? 'One host was accepted. The others are refused: create a separate backend for each, or remove deployd there.'
      : 'Compare /proc/sys/kernel/random/boot_id on each host with the boots below, and accept the true one.';
  return html`<h2>Hosts with its token</h2>
    <p>${hint}</p>
    ${table({ caption: 'Hosts with its token', columns, rows: copies, keyOf: ({ machine, boot }) => `${machine} ${boot}`, empty: html`` })}`;
}

const copyTones = { accepted: 'good', superseded: 'idle', contending: 'bad', refused: 'bad' } as const;

/** The picture without its own style, which the policy of the page would not apply. */
const drawing = picture.replace(/<style>[^]*?<\/style>/, '');

/** The life of a backend as docs/machines-service.md draws it, with the state that it is in. */
export function backendMachine(state: string): TemplateResult {
  const marked = drawing.replace(`id="backend.${state}" class="`, (start) => `${start}now `);
  return html`<details class="machine-details">
    <summary>States of a host</summary>
    <figure class="machine-frame" tabindex="0" aria-label="States of a backend">
      ${unsafeSVG(marked)}
      <figcaption>It is <strong>${state}</strong>.</figcaption>
    </figure>
  </details>`;
}

const BAR = { width: 400, height: 14 };

/** Ticks, newest first, each with a bar of its steps to the scale of the longest; opened, a tick shows all details. */
export function tickList(reports: readonly ReceivedReport[], now: number): TemplateResult {
  const scale = Math.max(0, ...reports.map(({ durations_ms }) => totalOf(durations_ms)));
  return html`<ol class="ticks">
    ${repeat(
      reports,
      ({ report_id }) => report_id,
      (report) => html`<li>${tick(report, { scale, now })}</li>`,
    )}
  </ol>`;
}

function tick(report: ReceivedReport, { scale, now }: { scale: number; now: number }): TemplateResult {
  const { outcome, finished_at, durations_ms } = report;
  return html`<details>
    <summary>
      ${toneBadge(outcomeTone(outcome), outcome)}
      <span class="when">${fullTime(finished_at, now)}</span> ${bar(durations_ms, scale)}
      <span class="number">${durationText(totalOf(durations_ms))}</span>
    </summary>
    ${tickDetails(report)}
  </details>`;
}

function bar(durations: Readonly<Record<string, number>>, scale: number): TemplateResult {
  const { width, height } = BAR;
  return html`<svg class="bar" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" aria-hidden="true">
    ${segmentsOf(durations, { scale, width }).map(
      ({ x, width: length }, index) =>
        svg`<rect class="step-${index % 4}" x=${x} y="0" width=${Math.max(length, 0.5)} height=${height} />`,
    )}
  </svg>`;
}

/** The reason for the ending of a tick, its steps, and the end of compose's output. */
export function tickDetails(report: ReceivedReport): TemplateResult {
  const { reason, code, detail, output_tail, applied_sha, desired_sha, durations_ms, replaced = [] } = report;
  const steps = Object.entries(durations_ms).map(([name, milliseconds]) => `${name} ${durationText(milliseconds)}`);
  return html`<p>${explain(report)}</p>
    ${code === null && detail === null ? nothing : html`<p class="reason">${reasonLine({ code, detail })}</p>`}
    ${output_tail === null ? nothing : outputBlock(output_tail)}
    ${facts([
      ['Reason', html`<code>${reason}</code>`],
      ['Bundle', digestChange(applied_sha, desired_sha)],
      ...(replaced.length === 0 ? [] : [['Replaced', replacementList(replaced)] as const]),
      ['Steps', steps.join(', ')],
    ])}`;
}

const orderWords = {
  'start-first': 'start-first, new containers were healthy before old ones stopped',
  'stop-first': 'stop-first, old containers stopped before new ones started',
  'not replaced': 'not replaced',
} as const;

/** How an apply has replaced each service, and why. */
export function replacementList(replaced: NonNullable<ReceivedReport['replaced']>): TemplateResult {
  return html`<ul>
    ${replaced.map(({ service, order, why }) => html`<li><strong>${service}</strong>: ${orderWords[order]} (${why})</li>`)}
  </ul>`;
}
