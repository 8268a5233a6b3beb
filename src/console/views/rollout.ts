import { html, nothing, type TemplateResult } from 'lit-html';
import type { Rollout } from '../api/types.ts';
import { digest, facts, fullTime, rolloutBadge, toneBadge } from '../components/words.ts';
import { emptyState, type Visit } from '../components/page.ts';
import { type Column, table } from '../components/lists.ts';
import { hrefOf, may } from '../core/pages.rules.ts';
import {
  gateWords,
  haltReasons,
  type RolloutAct,
  rolloutActs,
  rolloutConditions,
  waveWords,
} from '../core/rollouts.rules.ts';

/** A rollout as it goes, and what may be done to it. */
export function rolloutSection(rollout: Rollout, visit: Visit, now: number): TemplateResult {
  const { state, halted_by, next_start_at } = rollout;
  const acts = may(visit.caller, 'deployer', rollout.env) ? rolloutActs(state) : [];
  return html`<section class="rollout" aria-labelledby="rollout">
    <div class="heading">
      <h2 id="rollout">Rollout ${rolloutBadge(state)}</h2>
      <div class="actions">${acts.map((act) => actButton(act, rollout, visit))}</div>
    </div>
    <p>
      ${rolloutConditions[state]?.meaning}
      ${state === 'halted' && halted_by !== null ? html`The reason: ${haltReasons[halted_by]}.` : nothing}
      ${next_start_at === null ? nothing : html`The next wave starts ${fullTime(next_start_at, now)}.`}
    </p>
    ${failedHosts(rollout)}
    ${facts([
      ['Bundle', digest(rollout.sha256)],
      ['Before', digest(rollout.previous_sha)],
      ['Started', html`${fullTime(rollout.created_at, now)} by ${rollout.created_by}`],
      ['Halts after', `more than ${rollout.max_failures} failures`],
      ['Gate after each wave', gateWords(rollout)],
      ...(rollout.gate_reason === null ? [] : [['Answer at the gate', rollout.gate_reason] as const]),
    ])}
    ${waveTable(rollout)}
  </section>`;
}

/** Links for troubleshooting. */
function failedHosts({ failed_hosts }: Rollout): TemplateResult | typeof nothing {
  if (failed_hosts.length === 0) return nothing;
  return html`<p>
    What their last ticks tell:
    ${failed_hosts.map(({ id, site }) => html`<a class="button" href=${hrefOf('backend', { id })}>${site}</a> `)}
  </p>`;
}

type NumberedWave = Rollout['waves'][number] & { number: number };

function waveTable({ waves, started }: Rollout): TemplateResult {
  const columns: Column<NumberedWave>[] = [
    { heading: 'Wave', cell: ({ number }) => number },
    { heading: 'Takes', cell: waveWords },
    { heading: 'Progress', cell: (wave) => progressOf(wave, started) },
    { heading: 'Succeeded', isNumber: true, cell: ({ succeeded }) => succeeded },
    { heading: 'Failed', isNumber: true, cell: ({ failed }) => (failed > 0 ? toneBadge('bad', String(failed)) : 0) },
    { heading: 'Waiting', isNumber: true, cell: ({ waiting }) => waiting },
    { heading: 'Offline', isNumber: true, cell: ({ offline }) => offline },
  ];
  const rows = waves.map((wave, index) => ({ ...wave, number: index + 1 }));
  return table({ caption: 'Waves', columns, rows, keyOf: ({ number }) => String(number), empty: emptyState('') });
}

function progressOf({ number, hosts, succeeded }: NumberedWave, started: number): unknown {
  if (number > started) return html`<span class="faint">not started</span>`;
  if (hosts === 0) return html`<span class="faint">empty</span>`;
  return html`<span class="waves"
    ><progress max=${hosts} value=${succeeded} aria-label="Wave ${number}"></progress> ${succeeded} of ${hosts}</span
  >`;
}

const words: Record<RolloutAct, string> = { halt: 'Halt', resume: 'Resume', pass: 'Pass the gate', abort: 'Abort' };

function actButton(act: RolloutAct, rollout: Rollout, visit: Visit): TemplateResult {
  const { env, started } = rollout;
  const click = () => {
    if (act === 'abort') askToAbort(env, visit);
    else if (act === 'pass') void visit.act('The rollout continues.', () => visit.api.passGate(env, started));
    else void visit.act(`Rollout: ${words[act]} is done.`, () => visit.api.changeRollout(env, act));
  };
  return html`<button class=${act === 'abort' ? 'danger' : ''} @click=${click}>${words[act]}</button>`;
}

function askToAbort(env: string, { ask, api }: Visit): void {
  ask({
    title: `Abort the rollout of ${env}?`,
    body: html`<p>The content from before becomes the desired one of every host again.</p>`,
    confirm: 'Abort',
    isDangerous: true,
    done: 'The rollout is aborted.',
    work: () => api.changeRollout(env, 'abort'),
  });
}
