import { html, nothing, type TemplateResult } from 'lit-html';
import { ApiError } from '../api/createApi.ts';
import type { BackendDetails, HostCopy, InstallKit, ReceivedReport } from '../api/types.ts';
import {
  backendMachine,
  copyTable,
  deferralNotices,
  doomNotice,
  managerTable,
  replacementList,
  swarmLink,
  tickDetails,
  tickList,
} from '../components/backend.ts';
import { type Column, table } from '../components/lists.ts';
import { emptyState, errorNotice, type Page, type Visit } from '../components/page.ts';
import {
  conditionBadge,
  copyable,
  type Copying,
  digestChange,
  facts,
  fullTime,
  labelList,
  toneBadge,
} from '../components/words.ts';
import {
  brokenContainers,
  conditionOf,
  containerTone,
  hostName,
  isLastHost,
  outcomeTone,
  type RetirementStep,
  retirementSteps,
} from '../core/backends.rules.ts';
import { kitFiles, supersedes } from '../core/forms.rules.ts';
import { hrefOf, may } from '../core/pages.rules.ts';

type Container = BackendDetails['containers'][number];

/** One host: its state, its containers, and its last ticks. */
export const backendPage: Page = async (visit) => {
  const { api, caller } = visit;
  const { id = '' } = visit.params;
  const [backend, { reports }] = await Promise.all([api.backend(id), api.reports(id)]);
  const ticks = (now: number) =>
    reports.length === 0
      ? emptyState('Its host has not reported a tick yet. See what it does there:', 'deployd status')
      : tickList(reports, now);
  return {
    title: hostName(backend),
    topics: ['backends'],
    body: (now) =>
      html`<h1>${hostName(backend)}</h1>
        <p class="lead">${conditionBadge(conditionOf(backend))} ${conditionOf(backend).meaning}</p>
        ${deferralNotices(backend, now)} ${troubleOf(backend, now)}
        ${copyTable(backend, { now, accept: may(caller, 'admin', backend.env) ? acceptButton(backend, visit) : null })}
        ${aboutBackend(backend, now)} ${may(caller, 'admin', backend.env) ? administration(backend) : nothing}
        ${managerTable(backend)}
        <h2>Containers</h2>
        ${
          backend.healthy === null && backend.last_seen_at !== null
            ? html`<p>As its host told at its last check-in, ${fullTime(backend.last_seen_at, now)}.</p>`
            : nothing
        }
        ${containerTable(backend)} ${lastReplacement(reports)}
        <h2>Last ticks</h2>
        ${ticks(now)} ${backendMachine(backend.state)}`,
  };
};

function aboutBackend(backend: BackendDetails, now: number): TemplateResult {
  const { env, host, agent_version, transport } = backend;
  return facts([
    ['Env', html`<a href=${hrefOf('env', { env })}>${env}</a>`],
    ['Bundle', digestChange(backend.applied_sha, backend.desired_sha)],
    ['Last seen', fullTime(backend.last_seen_at, now)],
    ['In this state since', fullTime(backend.state_since, now)],
    ['Site', backend.site],
    ['System', host === null ? '–' : `${host.os}, ${host.arch}`],
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

/** The button that accepts one of the hosts with the token of a backend. */
function acceptButton(backend: BackendDetails, visit: Visit) {
  const { id } = backend;
  const accept = (copy: HostCopy) =>
    visit.ask({
      title: `Accept ${copy.name} for ${hostName(backend)}?`,
      body: html`<p>
        It gets the bundles of this backend. The other hosts with its token are refused, until you accept one of them
        instead.
      </p>`,
      confirm: 'Accept',
      done: 'The host was accepted.',
      work: () => visit.api.accept(id, copy),
    });
  return (copy: HostCopy) => html`<button @click=${() => accept(copy)}>Accept</button>`;
}

/** The trouble of its host, by its newest report. */
function troubleOf(
  { trouble, last_report: report, containers, healthy }: BackendDetails,
  now: number,
): TemplateResult | typeof nothing {
  const broken = healthy === false ? brokenContainers(containers) : [];
  const hasReport = trouble !== null && report !== null;
  if (!hasReport && broken.length === 0) return nothing;
  return html`<section class="trouble" aria-labelledby="why">
    <h2 id="why">Why</h2>
    ${hasReport ? html`<p>${toneBadge(outcomeTone(trouble), trouble)} ${fullTime(report.finished_at, now)}</p>` : nothing}
    ${broken.map((text) => html`<p>${text}</p>`)} ${hasReport ? tickDetails(report) : nothing}
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

/** How the newest of these applies replaced the services. */
function lastReplacement(reports: readonly ReceivedReport[]): TemplateResult | typeof nothing {
  const replaced = reports.find((report) => report.replaced !== undefined)?.replaced;
  return replaced === undefined
    ? nothing
    : html`<h3>Replaced by the last bundle that changed them</h3>
        ${replacementList(replaced)}`;
}

/** The end of a backend: confirmed by typing its name, then each step when it is done. */
export const retirePage: Page = async (visit) => {
  const backend = await visit.api.backend(visit.params['id'] ?? '');
  const { env, secrets_destroy_at: destroyAt } = backend;
  const isMine = may(visit.caller, 'admin', env);
  const secrets = isMine && isLastHost(backend, (await visit.api.env(env)).backends) ? await namesOf(visit, env) : [];
  return {
    title: `Retire ${hostName(backend)}`,
    topics: ['backends'],
    body: (now) =>
      html`<p><a href=${hrefOf('backend', { id: backend.id })}>${hostName(backend)}</a></p>
        <h1>Retire</h1>
        <p class="lead">${conditionBadge(conditionOf(backend))} ${conditionOf(backend).meaning}</p>
        ${deferralNotices(backend, now)} ${doomNotice({ env, destroyAt }, { visit, now })}
        ${stepList(retirementSteps(backend))} ${isMine ? askButton(backend, { secrets, visit }) : nothing}`,
  };
};

/** The names of the secrets of an environment; null if they cannot be listed. */
async function namesOf({ api }: Visit, env: string): Promise<string[] | null> {
  return api.secrets(env).then(
    ({ secrets }) => secrets.map(({ key }) => key),
    (error: unknown) => {
      if (error instanceof ApiError) return null;
      throw error;
    },
  );
}

/** A question about a retirement, with the names of the secrets that would end with it. */
interface Asking {
  secrets: readonly string[] | null;
  visit: Visit;
}

function stepList(steps: readonly RetirementStep[]): TemplateResult {
  return html`<ol class="steps">
    ${steps.map(
      ({ name, tone, word, error }) =>
        html`<li>
          ${name} ${toneBadge(tone, word)} ${error === null ? nothing : html`<span class="faint">${error}</span>`}
        </li>`,
    )}
  </ol>`;
}

function askButton(backend: BackendDetails, asking: Asking): TemplateResult {
  if (backend.state === 'finishing' || backend.state === 'retired') return html``;
  const word = backend.state === 'retiring' ? 'Do not wait for its host' : 'Retire it';
  return html`<p><button class="danger" @click=${() => ask(backend, asking)}>${word}</button></p>`;
}

function needsForce(state: BackendDetails['state']): boolean {
  return state === 'offline' || state === 'retiring';
}

function ask(backend: BackendDetails, { secrets, visit }: Asking): void {
  const { id, env, site, state, managers, containers } = backend;
  const services = [...new Set(containers.map(({ service }) => service))];
  const isForced = [state, ...managers.map((manager) => manager.state)].some(needsForce);
  visit.ask({
    title: `Retire ${hostName(backend)}?`,
    body: html`<p>${retirementSteps(backend)[0]?.name}. Its credentials are revoked. There is no way back.</p>
      <p>
        Site ${site}, environment ${env}, id <code>${id}</code>. Services that are stopped:
        ${services.length === 0 ? 'none is known' : services.join(', ')}.
      </p>
      ${wholeSwarm(backend)} ${secretsChoice(backend, secrets)}
      <label class="toggle"
        ><input type="checkbox" name="purge" /> Remove its volumes too, but for those of a production env</label
      >
      ${
        isForced
          ? html`<label class="toggle"><input type="checkbox" name="force" /> Do not wait for its host</label>`
          : nothing
      }`,
    confirm: 'Retire',
    isDangerous: true,
    typed: hostName(backend),
    done: 'The retirement has begun.',
    work: (fields) => {
      const how = { force: fields.has('force'), purge_volumes: fields.has('purge'), swarm: fields.has('swarm') };
      const choice = (['keep', 'destroy'] as const).find((each) => each === fields.get('secrets'));
      return visit.api.retire(id, { confirm: true, ...how, ...(choice && { secrets: choice }) });
    },
  });
}

/** Asks whether to keep or destroy the secrets of an environment whose last host is retired. */
function secretsChoice({ env }: BackendDetails, secrets: readonly string[] | null): TemplateResult | typeof nothing {
  if (secrets?.length === 0) return nothing;
  const names = secrets === null ? 'They cannot be listed now.' : secrets.map((key) => html`<code>${key}</code> `);
  return html`<fieldset>
    <legend>No other host of ${env} remains. What happens to its secrets?</legend>
    <p>${names}</p>
    <label class="toggle"><input type="radio" name="secrets" value="keep" required /> Keep them</label>
    <label class="toggle"><input type="radio" name="secrets" value="destroy" required /> Destroy them</label>
  </fieldset>`;
}

function wholeSwarm({ managers }: BackendDetails): TemplateResult | typeof nothing {
  if (managers.length === 0) return nothing;
  return html`<label class="toggle"
    ><input type="checkbox" name="swarm" /> All ${managers.length + 1} managers of its swarm: the leader takes down what
    they run</label
  >`;
}

/** The install kit of a backend: shown once, on request, and kept only by this page. */
export const kitPage: Page = async (visit) => {
  const backend = await visit.api.backend(visit.params['id'] ?? '');
  let shown: InstallKit | ApiError | null = null;
  let isBusy = false;
  const reveal = async () => {
    // A second kit would supersede the first.
    isBusy = true;
    visit.redraw();
    shown = await visit.api.revealKit(backend.id).catch((error: unknown) => {
      if (error instanceof ApiError) return error;
      throw error;
    });
    isBusy = false;
    visit.redraw();
  };
  const copying: Copying = { told: null, redraw: visit.redraw };
  return {
    title: `Install kit of ${hostName(backend)}`,
    topics: [],
    body: (now) =>
      html`<p><a href=${hrefOf('backend', { id: backend.id })}>${hostName(backend)}</a></p>
        <h1>Install kit</h1>
        ${shown instanceof ApiError ? errorNotice(shown) : nothing}
        ${shown === null || shown instanceof ApiError ? offer(backend, { reveal, isBusy }) : kitView(shown, copying, now)}`,
  };
};

function offer(
  backend: BackendDetails,
  { reveal, isBusy }: { reveal: () => Promise<void>; isBusy: boolean },
): TemplateResult {
  return html`<p class="lead">${supersedes(backend)}</p>
    <p class="hint">It holds credentials and is shown once. Leave the page when the host has them.</p>
    <p><button class="primary" ?disabled=${isBusy} @click=${() => void reveal()}>Reveal the kit</button></p>`;
}

function kitView(kit: InstallKit, copying: Copying, now: number): TemplateResult {
  return html`<div role="status"><p class="notice later">Shown this once. It is gone when you leave the page.</p></div>
    ${facts([
      ['Holds until', fullTime(kit.expires_at, now)],
      ['Package', kit.base_url === null ? kit.version : html`<code>${kit.base_url}/${kit.version}</code>`],
    ])}
    <h2>Run on the host</h2>
    <p class="hint">In a directory with the files below and the installer.</p>
    ${copyable({ name: 'command', text: kit.command }, copying)}
    ${kitFiles(kit).map(
      (file) =>
        html`<h2>${file.name}</h2>
          ${copyable(file, copying)}`,
    )}`;
}
