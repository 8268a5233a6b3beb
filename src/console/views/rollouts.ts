import { html, nothing, type TemplateResult } from 'lit-html';
import { ApiError } from '../api/createApi.ts';
import type { Bundle, NewRollback, Rollout, RolloutHosts, RolloutPreview, Webhook } from '../api/types.ts';
import { type Column, table, waveTable } from '../components/lists.ts';
import { emptyState, type Page, type Visit } from '../components/page.ts';
import {
  browserZone,
  conditionBadge,
  digest,
  facts,
  fullTime,
  rolloutBadge,
  timeAgo,
  toneBadge,
} from '../components/words.ts';
import { deferralConditions, hostName } from '../core/backends.rules.ts';
import { hrefOf, may } from '../core/pages.rules.ts';
import {
  awaitedWords,
  gateWords,
  haltReasons,
  judgeEdit,
  judgeRollout,
  maySkip,
  rollbackWords,
  type RolloutAct,
  rolloutActs,
  rolloutBounds,
  rolloutConditions,
  rolloutEdit,
  rolloutPlan,
  waveRows,
  weekdays,
  windowRows,
} from '../core/rollouts.rules.ts';

/** Rollouts of an environment that are kept. */
const KEPT = '50';

/** A rollout of an environment, also one that is over. */
export const rolloutPage: Page = async (visit) => {
  const { env = '', id = '' } = visit.params;
  const { rollouts } = await visit.api.rollouts(env, KEPT);
  const rollout = rollouts.find((each) => each.id === id);
  if (rollout === undefined) throw missing();
  const isNewest = rollouts[0]?.id === id;
  const { hosts } = isNewest ? await visit.api.rolloutHosts(env) : { hosts: [] };
  return {
    title: `Rollout in ${env}`,
    topics: ['rollouts', 'backends'],
    body: (now) =>
      html`<p><a href=${hrefOf('env', { env })}>${env}</a></p>
        <h1>Rollout of ${digest(rollout.sha256)}</h1>
        ${rolloutSection(rollout, isNewest ? hosts : null, { visit, now })}`,
  };
};

function missing(): ApiError {
  return new ApiError({ status: 404, code: 'ROLLOUT_NOT_FOUND', message: 'there is no such rollout' });
}

/** The rollouts of an environment, newest first; each leads to its page. */
export function rolloutTable(name: string, rollouts: readonly Rollout[], now: number): TemplateResult {
  const columns: Column<Rollout>[] = [
    {
      heading: 'Started',
      cell: ({ id, created_at }) =>
        html`<a href=${hrefOf('rollout', { env: name, id })}>${fullTime(created_at, now)}</a>`,
    },
    { heading: 'By', cell: ({ created_by }) => created_by },
    { heading: 'Bundle', cell: ({ sha256 }) => digest(sha256) },
    { heading: 'State', cell: ({ state }) => rolloutBadge(state) },
    { heading: 'Since', cell: ({ state_since }) => timeAgo(state_since, now) },
  ];
  const empty = emptyState(
    'No bundle was rolled out wave by wave yet.',
    `deployctl rollout start ${name} SHA --wave 1`,
  );
  return table({ caption: 'Rollouts', columns, rows: rollouts, keyOf: ({ id }) => id, empty });
}

/** Explains the effect of a rollback. */
export function rollbackHint(): TemplateResult {
  return html`<p>
    Its content gets a new sequence, and keeps the present versions of secrets. Hosts that run it keep it, and so do
    newer hosts whose policy denies rollbacks.
  </p>`;
}

/** Rolls back, and shows in a dialog what is left to do. */
export async function rollBack(visit: Visit, env: string, body: NewRollback): Promise<void> {
  const left = rollbackWords(await visit.api.rollBack(env, body));
  if (left.length === 0) return;
  const title = `${env} has not returned completely`;
  const close = { confirm: 'Close', done: title, work: () => Promise.resolve() };
  visit.ask({ title, body: html`${left.map((text) => html`<p>${text}</p>`)}`, ...close });
}

/** How a bundle is rolled out: as a return to earlier content, and with which webhooks as gates. */
interface RolloutChoice {
  /** The content needs a new sequence. */
  isBack: boolean;
  /** It is older than the desired one. */
  isOlder: boolean;
  gates: readonly Webhook[];
  visit: Visit;
}

/** Asks for the waves of a rollout, names their hosts while they are typed, and starts it with these hosts. */
export async function askForRollout(bundle: Bundle, { isBack, isOlder, gates, visit }: RolloutChoice): Promise<void> {
  const { env, name, version, sha256 } = bundle;
  const { api } = visit;
  const { draw, labels } = await api.previewRollout(env, { sha256, waves: [] });
  visit.ask({
    title: isOlder ? `Roll ${env} back to ${name} ${version} in waves` : `Roll ${name} ${version} out in ${env}`,
    body: html`${isBack ? rollbackHint() : nothing} ${waveFields(labels, ['1 hosts', '25 percent'])}
      <details>
        <summary>Start waves only at certain times</summary>
        ${windowRows.map(windowFields)}
      </details>
      ${limitFields({ max_failures: 0, soak_s: 300 })} ${gateChoice(env, gates)}`,
    confirm: 'Start',
    done: 'The rollout has started.',
    judge: judgeRollout,
    preview: async (fields) => {
      if (Object.keys(judgeRollout(fields).problems).length > 0) return html``;
      const { waves } = rolloutPlan(fields);
      return previewList(await api.previewRollout(env, { sha256, waves, draw }));
    },
    work: (fields) => {
      const plan = { ...rolloutPlan(fields), draw };
      return isBack ? rollBack(visit, env, { sha256, plan }) : api.startRollout(env, { sha256, ...plan });
    },
  });
}

/** The hosts of each wave by name. */
function previewList({ waves }: RolloutPreview): TemplateResult {
  return html`<ol class="preview-waves" tabindex="0" aria-label="Hosts of each wave">
    ${waves.map(({ hosts, named }, index) => {
      const more = hosts > named.length ? ` and ${(hosts - named.length).toLocaleString('en')} more` : '';
      return html`<li><strong>Wave ${index + 1}:</strong> ${named.map(hostName).join(', ')}${more}</li>`;
    })}
  </ol>`;
}

const units = [
  ['', 'no wave'],
  ['hosts', 'hosts'],
  ['percent', '% of hosts'],
  ['all', 'all hosts'],
] as const;

/** A row for each wave: how many hosts, and with which label. `presets` fill the first rows, such as `1 hosts`. */
function waveFields(labels: readonly string[], presets: readonly string[]): TemplateResult {
  return html`<fieldset class="rows">
    <legend>Waves</legend>
    ${waveRows.map((row) => {
      const [number = '', chosen = ''] = (presets[row] ?? '').split(' ');
      return html`<div class="row">
        <input
          name=${`wave-${row}-number`}
          type="number"
          min="1"
          aria-label=${`Number of wave ${row + 1}`}
          .defaultValue=${number}
        />
        <select name=${`wave-${row}-unit`} aria-label=${`Unit of wave ${row + 1}`}>
          ${units.map(([unit, word]) => html`<option value=${unit} ?selected=${unit === chosen}>${word}</option>`)}
        </select>
        <select name=${`wave-${row}-label`} aria-label=${`Label of wave ${row + 1}`}>
          <option value="">with any label</option>
          ${labels.map((label) => html`<option value=${label}>with ${label}</option>`)}
        </select>
      </div>`;
    })}
    <p class="hint">One after another; all hosts that are left come last.</p>
  </fieldset>`;
}

function windowFields(row: number): TemplateResult {
  const name = (part: string) => `window-${row}-${part}`;
  return html`<fieldset class="rows">
    <legend>Window ${row + 1}</legend>
    <div class="row">
      ${weekdays.map(
        (day) => html`<label class="toggle"><input type="checkbox" name=${name(day)} value="true" /> ${day}</label>`,
      )}
    </div>
    <div class="row">
      <label>From <input type="time" name=${name('start')} /></label>
      <label>Minutes <input type="number" min="1" name=${name('minutes')} .defaultValue=${'90'} /></label>
      <label>Time zone <input name=${name('zone')} spellcheck="false" .defaultValue=${browserZone()} /></label>
    </div>
  </fieldset>`;
}

function limitFields({ max_failures, soak_s }: Pick<Rollout, 'max_failures' | 'soak_s'>): TemplateResult {
  const { hosts, soakSeconds } = rolloutBounds;
  return html`<label
      >Failures that do not halt it
      <input name="failures" type="number" min="0" max=${hosts} .defaultValue=${String(max_failures)} required
    /></label>
    <label
      >Soak after each wave, in seconds
      <input name="soak" type="number" min="0" max=${soakSeconds} .defaultValue=${String(soak_s)} required
    /></label>`;
}

/** Changes limits and later waves of a rollout that runs. */
async function askToEdit(rollout: Rollout, { ask, api }: Visit): Promise<void> {
  const { env, sha256, deadline_s } = rollout;
  const { labels } = await api.previewRollout(env, { sha256, waves: [] });
  ask({
    title: `Edit the rollout of ${env}`,
    body: html`<p class="hint">New waves replace those that have not started. Without one, they stay.</p>
      ${waveFields(labels, [])} ${limitFields(rollout)}
      <label
        >Deadline of a wave, in seconds
        <input
          name="deadline"
          type="number"
          min="1"
          max=${rolloutBounds.deadlineSeconds}
          .defaultValue=${String(deadline_s ?? '')}
          required
      /></label>`,
    confirm: 'Change',
    done: 'The rollout was changed.',
    judge: judgeEdit,
    work: (fields) => api.editRollout(env, rolloutEdit(fields)),
  });
}

/** The gate of a wave; webhooks by their ids. */
function gateChoice(env: string, gates: readonly Webhook[]): TemplateResult {
  return html`<label
      >Gate after each wave
      <select name="gate">
        <option value="none">none: it goes on by itself</option>
        <option value="manual">somebody passes it</option>
        ${gates.map(({ id, name: gate }) => html`<option value=${id}>the webhook ${gate} is asked</option>`)}
      </select>
    </label>
    ${
      gates.length > 0
        ? nothing
        : html`<p class="hint">
            There is no webhook to ask. Add one: <code>deployctl webhook add NAME --env ${env} --no-event</code>
          </p>`
    }`;
}

/** A rollout as it goes, and what may be done to it. */
export function rolloutSection(
  rollout: Rollout,
  hosts: RolloutHosts['hosts'] | null,
  { visit, now }: { visit: Visit; now: number },
): TemplateResult {
  const { state, halted_by, next_start_at } = rollout;
  const acts = may(visit.caller, 'deployer', rollout.env) ? rolloutActs(state) : [];
  const awaited = awaitedWords(rollout);
  return html`<section class="rollout" aria-labelledby="rollout">
    <div class="heading">
      <h2 id="rollout">Rollout ${rolloutBadge(state)}</h2>
      <div class="actions">
        ${acts.map((act) => actButton(act, rollout, visit))}
        ${acts.length === 0 ? nothing : html`<button @click=${() => visit.attempt(() => askToEdit(rollout, visit))}>Edit</button>`}
      </div>
    </div>
    <p>
      ${rolloutConditions[state]?.meaning}
      ${state === 'halted' && halted_by !== null ? html`The reason: ${haltReasons[halted_by]}.` : nothing}
      ${next_start_at === null ? nothing : html`The next wave starts ${fullTime(next_start_at, now)}.`}
    </p>
    ${failedHosts(rollout)} ${awaited === null ? nothing : html`<p>${awaited}</p>`}
    ${facts([
      ['Bundle', digest(rollout.sha256)],
      ['Before', digest(rollout.previous_sha)],
      ['Started', html`${fullTime(rollout.created_at, now)} by ${rollout.created_by}`],
      ['Halts after', `more than ${rollout.max_failures} failures`],
      ...(rollout.deadline_s === null ? [] : [['Deadline of a wave', `${rollout.deadline_s} s`] as const]),
      ['Gate after each wave', gateWords(rollout)],
      ...(rollout.gate_reason === null ? [] : [['Answer at the gate', rollout.gate_reason] as const]),
    ])}
    ${waveTable(rollout)}
    ${
      hosts === null
        ? html`<p class="hint">Hosts belong to the newest rollout; of this one only the numbers are kept.</p>`
        : memberTable(rollout, hosts, { visit, now, maySkipHosts: acts.length > 0 })
    }
  </section>`;
}

/** The hosts of all waves by name, closed at first. */
function memberTable(
  { env, waves }: Rollout,
  hosts: RolloutHosts['hosts'],
  { visit, now, maySkipHosts }: { visit: Visit; now: number; maySkipHosts: boolean },
): TemplateResult {
  const columns: Column<RolloutHosts['hosts'][number]>[] = [
    { heading: 'Wave', cell: ({ wave }) => wave },
    { heading: 'Host', cell: (host) => html`<a href=${hrefOf('backend', { id: host.id })}>${hostName(host)}</a>` },
    { heading: 'Site', cell: ({ site }) => site },
    { heading: 'Status', cell: ({ status }) => statusCell(status) },
    { heading: 'Last seen', cell: ({ last_seen_at }) => (last_seen_at === null ? '–' : timeAgo(last_seen_at, now)) },
    {
      heading: 'Paused by',
      cell: ({ deferred_by }) => (deferred_by === null ? '–' : conditionBadge(deferralConditions[deferred_by])),
    },
    {
      heading: 'Action',
      cell: (host) =>
        maySkipHosts && maySkip(host.status)
          ? html`<button aria-label=${`Skip ${hostName(host)}`} @click=${() => askToSkip(env, host, visit)}>
              Skip
            </button>`
          : nothing,
    },
  ];
  const rows = table({ caption: 'Hosts by wave', columns, rows: hosts, keyOf: ({ id }) => id, empty: emptyState('') });
  const total = waves.reduce((sum, wave) => sum + wave.hosts, 0);
  return html`<details>
    <summary>Hosts of each wave</summary>
    ${
      hosts.length >= total
        ? nothing
        : html`<p>
            Only the first ${hosts.length} of ${total.toLocaleString('en')} hosts. For one wave:
            <code>deployctl rollout hosts ${env} --wave N</code>
          </p>`
    }
    ${rows}
  </details>`;
}

function askToSkip(env: string, host: RolloutHosts['hosts'][number], { ask, api }: Visit): void {
  const name = hostName(host);
  ask({
    title: `Skip ${name}?`,
    body: html`<p>The rollout does not wait for it, and ignores its failures until it succeeds.</p>`,
    confirm: 'Skip',
    done: `The rollout skips ${name}.`,
    work: () => api.skipHost(env, host.id),
  });
}

function statusCell(status: RolloutHosts['hosts'][number]['status']): unknown {
  if (status === 'failed') return toneBadge('bad', status);
  return status === 'excused'
    ? html`<span title="Its failure does not count until it succeeds.">${status}</span>`
    : status;
}

/** Links for troubleshooting. */
function failedHosts({ failed_hosts }: Rollout): TemplateResult | typeof nothing {
  if (failed_hosts.length === 0) return nothing;
  return html`<p>
    What their last ticks tell:
    ${failed_hosts.map((host) => html`<a class="button" href=${hrefOf('backend', { id: host.id })}>${hostName(host)}</a> `)}
  </p>`;
}

const words: Record<RolloutAct, string> = { halt: 'Halt', resume: 'Resume', pass: 'Pass the gate', abort: 'Abort' };

function actButton(act: RolloutAct, rollout: Rollout, visit: Visit): TemplateResult {
  const { env, started } = rollout;
  const click = () => {
    if (act === 'abort') askToAbort(env, visit);
    else if (act === 'resume') askToResume(rollout, visit);
    else if (act === 'pass') void visit.act('The rollout continues.', () => visit.api.passGate(env, started));
    else void visit.act(`Rollout: ${words[act]} is done.`, () => visit.api.changeRollout(env, act));
  };
  return html`<button class=${act === 'abort' ? 'danger' : ''} @click=${click}>${words[act]}</button>`;
}

function askToResume({ env, failed_hosts }: Rollout, { ask, api }: Visit): void {
  const names = failed_hosts.map(hostName).join(', ');
  ask({
    title: `Resume the rollout of ${env}?`,
    body: html`<p>It continues where it was halted.</p>
      ${names === '' ? nothing : html`<p>The failures of these hosts are ignored until they succeed: ${names}</p>`}`,
    confirm: 'Resume it',
    done: 'The rollout continues.',
    work: () => api.changeRollout(env, 'resume'),
  });
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
