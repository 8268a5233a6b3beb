import { html, nothing, type TemplateResult } from 'lit-html';
import type { BackendDetails } from '../api/types.ts';
import { conditionBadge, toneBadge } from '../components/words.ts';
import { deferralNotices } from '../components/backend.ts';
import type { Page, Visit } from '../components/page.ts';
import { conditionOf, type RetirementStep, retirementSteps } from '../core/backends.rules.ts';
import { hrefOf, may } from '../core/pages.rules.ts';

/** The end of a backend: asked for by typing its name, then each step as it is done. */
export const retirePage: Page = async (visit) => {
  const backend = await visit.api.backend(visit.params['id'] ?? '');
  const isMine = may(visit.caller, 'admin', backend.env);
  return {
    title: `Retire ${backend.site}`,
    topics: ['backends'],
    body: (now) =>
      html`<p><a href=${hrefOf('backend', { id: backend.id })}>${backend.site}</a></p>
        <h1>Retire</h1>
        <p class="lead">${conditionBadge(conditionOf(backend))} ${conditionOf(backend).meaning}</p>
        ${deferralNotices(backend, now)} ${stepList(retirementSteps(backend))}
        ${isMine ? askButton(backend, visit) : nothing}`,
  };
};

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

function askButton(backend: BackendDetails, visit: Visit): TemplateResult {
  if (backend.state === 'finishing' || backend.state === 'retired') return html``;
  const word = backend.state === 'retiring' ? 'Do not wait for its host' : 'Retire it';
  return html`<p><button class="danger" @click=${() => ask(backend, visit)}>${word}</button></p>`;
}

function needsForce(state: BackendDetails['state']): boolean {
  return state === 'offline' || state === 'retiring';
}

function ask(backend: BackendDetails, visit: Visit): void {
  const { id, site, state, managers } = backend;
  const isForced = [state, ...managers.map((manager) => manager.state)].some(needsForce);
  visit.ask({
    title: `Retire ${site}?`,
    body: html`<p>${retirementSteps(backend)[0]?.name}. Its credentials are revoked. There is no way back.</p>
      ${wholeSwarm(backend)}
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
    typed: site,
    done: 'The retirement has begun.',
    work: (fields) => {
      const how = { force: fields.has('force'), purge_volumes: fields.has('purge'), swarm: fields.has('swarm') };
      return visit.api.retire(id, { confirm: true, ...how });
    },
  });
}

function wholeSwarm({ managers }: BackendDetails): TemplateResult | typeof nothing {
  if (managers.length === 0) return nothing;
  return html`<label class="toggle"
    ><input type="checkbox" name="swarm" /> All ${managers.length + 1} managers of its swarm: the leader takes down what
    they run</label
  >`;
}
