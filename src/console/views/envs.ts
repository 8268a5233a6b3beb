import { html, nothing, type TemplateResult } from 'lit-html';
import type { Bundle, EnvCounts, EnvDetails, Rollout, RolloutHosts, Webhook } from '../api/types.ts';
import { textOf } from '../components/dialog.ts';
import { type Column, table } from '../components/lists.ts';
import { emptyState, type Page, type Visit } from '../components/page.ts';
import { browserZone, counts, digest, facts, fullTime, rolloutBadge, timeAgo, toneBadge } from '../components/words.ts';
import { countPresent, stateConditions } from '../core/backends.rules.ts';
import { hrefOf, may } from '../core/pages.rules.ts';
import {
  gateWebhooks,
  gateWords,
  haltReasons,
  judgeRollout,
  type RolloutAct,
  rolloutActs,
  rolloutBounds,
  rolloutConditions,
  rolloutPlan,
  waveWords,
} from '../core/rollouts.rules.ts';
import { heldNotice } from './restore.ts';

/** The envs that one may see. */
export const envsPage: Page = async (visit) => {
  const { envs } = await visit.api.fleet();
  return {
    title: 'Envs',
    topics: ['envs', 'backends', 'rollouts'],
    body: () =>
      html`<div class="heading">
          <h1>Envs</h1>
          ${may(visit.caller, 'admin', null) ? html`<button @click=${() => askForEnv(visit)}>New env</button>` : ''}
        </div>
        ${envTable(envs)}`,
  };
};

function envTable(envs: readonly EnvCounts[]): TemplateResult {
  const columns: Column<EnvCounts>[] = [
    { heading: 'Env', cell: envName },
    { heading: 'Hosts', isNumber: true, cell: ({ backends }) => countPresent(backends).toLocaleString('en') },
    { heading: 'Offline', isNumber: true, cell: ({ backends }) => (backends['offline'] ?? 0).toLocaleString('en') },
    { heading: 'Unhealthy', isNumber: true, cell: ({ sick }) => sick.toLocaleString('en') },
    { heading: 'Out of date', isNumber: true, cell: ({ behind }) => behind.toLocaleString('en') },
    { heading: 'Rollout', cell: ({ rollout }) => (rollout ? rolloutBadge(rollout.state) : '–') },
    { heading: 'Desired bundle', cell: ({ desired_sha }) => digest(desired_sha) },
  ];
  const empty = emptyState('There is no environment that you may see. Create one:', 'deployctl env create NAME');
  return table({ caption: 'Envs', columns, rows: envs, keyOf: ({ name }) => name, empty });
}

function envName({ name, production }: EnvCounts): TemplateResult {
  return html`<a href=${hrefOf('env', { env: name })}>${name}</a> ${production ? toneBadge('idle', 'production') : ''}`;
}

function askForEnv({ ask, api }: Visit): void {
  ask({
    title: 'New env',
    body: html`<label
        >Name <input name="name" required pattern="[a-z0-9][a-z0-9\\-]{0,62}" autofocus spellcheck="false"
      /></label>
      <p class="hint">Lower-case letters, digits and hyphens, such as <code>eu-1</code>.</p>
      <label class="toggle"
        ><input type="checkbox" name="production" /> Production: hosts never remove its volumes</label
      >`,
    confirm: 'Create',
    done: 'The environment was created.',
    work: (fields) => api.createEnv({ name: textOf(fields, 'name'), production: fields.get('production') !== null }),
  });
}

/** One env: what is desired of its hosts, its rollout and its bundles. */
export const envPage: Page = async (visit) => {
  const { env: name = '' } = visit.params;
  const { api } = visit;
  const [env, { bundles }, { rollouts }, { webhooks }] = await Promise.all([
    api.env(name),
    api.bundles(name),
    api.rollouts(name),
    api.webhooks(),
  ]);
  const [newest] = rollouts;
  const isRunning = newest !== undefined && rolloutActs(newest.state).length > 0;
  const { hosts } = isRunning ? await api.rolloutHosts(name) : { hosts: [] };
  return {
    title: name,
    topics: ['envs', 'rollouts', 'bundles', 'backends', 'webhooks'],
    body: (now) =>
      html`<h1>${name} ${env.production ? toneBadge('idle', 'production') : nothing}</h1>
        <p><a href=${hrefOf('secrets', { env: name })}>Secrets</a></p>
        ${heldNotice([env])} ${hostCounts(env)} ${desiredBundle(env, now)}
        ${isRunning ? rolloutSection(newest, hosts, { visit, now }) : nothing}
        <h2>Bundles</h2>
        ${bundleTable(bundles, { env, isRunning, gates: gateWebhooks(webhooks, name), visit, now })}
        <h2>Rollouts</h2>
        ${rolloutTable(name, rollouts, now)}`,
  };
};

function hostCounts({ name, backends }: EnvDetails): TemplateResult {
  const entries = Object.entries(stateConditions).map(([state, { tone }]) => ({
    ...{ name: state, tone, count: backends[state] ?? 0 },
    href: `${hrefOf('fleet')}?${new URLSearchParams({ env: name, state })}`,
  }));
  return counts(entries.filter(({ count }) => count > 0));
}

function desiredBundle({ name, desired }: EnvDetails, now: number): TemplateResult {
  if (desired === null)
    return emptyState('Its hosts are to run nothing yet. Promote a bundle:', `deployctl promote ${name} SHA`);
  return html`<h2>Desired bundle</h2>
    ${facts([
      ['Bundle', html`<strong>${desired.name} ${desired.version}</strong> ${digest(desired.sha256)}`],
      ['Sequence', desired.sequence],
      ['Pushed', html`${fullTime(desired.received_at, now)} by ${desired.received_from}`],
      ['Signatures', signatureOf(desired)],
    ])}`;
}

interface BundleTable extends PromotionPlace {
  isRunning: boolean;
  now: number;
}

function bundleTable(bundles: readonly Bundle[], { isRunning, now, ...place }: BundleTable): TemplateResult {
  const columns: Column<Bundle>[] = [
    { heading: 'Bundle', cell: ({ name, version }) => `${name} ${version}` },
    { heading: 'Sequence', isNumber: true, cell: ({ sequence }) => sequence },
    { heading: 'Digest', cell: ({ sha256 }) => digest(sha256) },
    { heading: 'Pushed', cell: ({ received_at }) => timeAgo(received_at, now) },
    { heading: 'By', cell: ({ received_from }) => received_from },
    { heading: 'Signatures', cell: signatureOf },
    { heading: 'Changes', cell: compareLink },
    {
      heading: 'Action',
      cell: (bundle) =>
        bundle.sha256 === place.env.desired_sha
          ? toneBadge('good', 'desired')
          : isRunning
            ? nothing
            : bundleActs(bundle, place),
    },
  ];
  const empty = emptyState(
    'There is no bundle yet. Pack and push one:',
    `deployctl bundle pack shop --next && deployctl push shop.tar.gz`,
  );
  return table({ caption: 'Bundles', columns, rows: bundles, keyOf: ({ sha256 }) => sha256, empty });
}

/** Links to the changes from the desired bundle to another one, or from the previous one to it. */
function compareLink({ env, name, version, sha256 }: Bundle): TemplateResult {
  const href = `${hrefOf('diff', { env })}?${new URLSearchParams({ to: sha256 })}`;
  return html`<a href=${href} aria-label=${`Compare ${name} ${version}`}>Compare</a>`;
}

function signatureOf({ signature, signers }: Bundle): string {
  return signers.length === 0 ? signature : `${signature}: ${signers.join(', ')}`;
}

function rolloutTable(name: string, rollouts: readonly Rollout[], now: number): TemplateResult {
  const columns: Column<Rollout>[] = [
    { heading: 'Started', cell: ({ created_at }) => fullTime(created_at, now) },
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

/** Where a bundle is promoted or rolled out: its env, and the webhooks that a gate can be asked of there. */
interface PromotionPlace {
  env: EnvDetails;
  gates: readonly Webhook[];
  visit: Visit;
}

/** The possible actions on a bundle of an environment: none during a rollout, or for the desired bundle. */
function bundleActs(bundle: Bundle, { env, gates, visit }: PromotionPlace): TemplateResult | typeof nothing {
  if (!may(visit.caller, 'deployer', env.name) || bundle.sha256 === env.desired_sha) return nothing;
  const isBack = env.desired !== null && bundle.sequence < env.desired.sequence;
  return html`<div class="actions">
    <button @click=${() => askToPromote(bundle, { isBack, visit })}>${isBack ? 'Roll back' : 'Promote'}</button>
    <button @click=${() => askForRollout(bundle, gates, visit)}>Roll out</button>
  </div>`;
}

function askToPromote(bundle: Bundle, { isBack, visit }: { isBack: boolean; visit: Visit }): void {
  const { env, name, version, sha256 } = bundle;
  const bundleName = `${name} ${version}`;
  visit.ask({
    title: isBack ? `Roll ${env} back to ${bundleName}?` : `Promote ${bundleName} in ${env}?`,
    body: html`<p>
        Every host of the environment runs it from its next check-in on. Roll it out to begin with a few hosts.
      </p>
      ${
        isBack
          ? html`<p>
              Its content gets a new sequence, and keeps the present versions of secrets. Hosts that run it keep it.
            </p>`
          : nothing
      }`,
    confirm: isBack ? 'Roll back' : 'Promote',
    ...(bundle.production && { typed: env }),
    done: isBack
      ? `The content of ${bundleName} is desired in ${env}, or awaits signatures.`
      : `${bundleName} is desired in ${env}.`,
    work: () => (isBack ? visit.api.rollBack(env, sha256) : visit.api.promote(env, sha256)),
  });
}

function askForRollout({ env, name, version, sha256 }: Bundle, gates: readonly Webhook[], { ask, api }: Visit): void {
  const { hosts, soakSeconds } = rolloutBounds;
  ask({
    title: `Roll ${name} ${version} out in ${env}`,
    body: html`<label
        >Waves, one in each line
        <textarea name="waves" rows="3" spellcheck="false" .defaultValue=${'1\n25%'}></textarea>
      </label>
      <p class="hint">
        A number of hosts, a percentage, or all; of hosts with labels: <code>10%:ring=canary</code>. One after another.
      </p>
      <label
        >Windows in which waves may start, one in each line
        <textarea name="windows" rows="2" spellcheck="false"></textarea>
      </label>
      <p class="hint">At any time without one; else such as <code>mon-fri 08:30+90 ${browserZone()}</code>.</p>
      <label
        >Failures that do not halt it <input name="failures" type="number" min="0" max=${hosts} value="0" required
      /></label>
      <label
        >Soak after each wave, in seconds
        <input name="soak" type="number" min="0" max=${soakSeconds} value="300" required
      /></label>
      ${gateChoice(env, gates)}`,
    confirm: 'Start',
    done: 'The rollout has started.',
    judge: judgeRollout,
    work: (fields) => api.startRollout(env, { sha256, ...rolloutPlan(fields) }),
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
function rolloutSection(
  rollout: Rollout,
  hosts: RolloutHosts['hosts'],
  { visit, now }: { visit: Visit; now: number },
): TemplateResult {
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
    ${failedHosts(rollout)} ${awaitedHosts(rollout)}
    ${facts([
      ['Bundle', digest(rollout.sha256)],
      ['Before', digest(rollout.previous_sha)],
      ['Started', html`${fullTime(rollout.created_at, now)} by ${rollout.created_by}`],
      ['Halts after', `more than ${rollout.max_failures} failures`],
      ...(rollout.deadline_s === null ? [] : [['Deadline of a wave', `${rollout.deadline_s} s`] as const]),
      ['Gate after each wave', gateWords(rollout)],
      ...(rollout.gate_reason === null ? [] : [['Answer at the gate', rollout.gate_reason] as const]),
    ])}
    ${waveTable(rollout)} ${memberTable(hosts, now)}
  </section>`;
}

/** The hosts of all waves by name, closed at first. */
function memberTable(hosts: RolloutHosts['hosts'], now: number): TemplateResult {
  const columns: Column<RolloutHosts['hosts'][number]>[] = [
    { heading: 'Wave', cell: ({ wave }) => wave },
    {
      heading: 'Host',
      cell: ({ id, host_name, site }) => html`<a href=${hrefOf('backend', { id })}>${host_name ?? site}</a>`,
    },
    { heading: 'Status', cell: ({ status }) => (status === 'failed' ? toneBadge('bad', status) : status) },
    { heading: 'Last seen', cell: ({ last_seen_at }) => (last_seen_at === null ? '–' : timeAgo(last_seen_at, now)) },
    { heading: 'Deferred by', cell: ({ deferred_by }) => deferred_by ?? '–' },
  ];
  const rows = table({ caption: 'Hosts by wave', columns, rows: hosts, keyOf: ({ id }) => id, empty: emptyState('') });
  return html`<details>
    <summary>Hosts of each wave</summary>
    ${rows}
  </details>`;
}

function awaitedHosts({ awaited_hosts }: Rollout): TemplateResult | typeof nothing {
  if (awaited_hosts.length === 0) return nothing;
  return html`<p>The wave waits for: ${awaited_hosts.map(({ host_name, site }) => host_name ?? site).join(', ')}</p>`;
}

/** Links for troubleshooting. */
function failedHosts({ failed_hosts }: Rollout): TemplateResult | typeof nothing {
  if (failed_hosts.length === 0) return nothing;
  return html`<p>
    What their last ticks tell:
    ${failed_hosts.map(
      ({ id, host_name, site }) => html`<a class="button" href=${hrefOf('backend', { id })}>${host_name ?? site}</a> `,
    )}
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
    { heading: 'Excused', isNumber: true, cell: ({ excused }) => excused },
    { heading: 'Offline', isNumber: true, cell: ({ offline, absent }) => offline + absent },
  ];
  const rows = waves.map((wave, index) => ({ ...wave, number: index + 1 }));
  return table({ caption: 'Waves', columns, rows, keyOf: ({ number }) => String(number), empty: emptyState('') });
}

function progressOf({ number, hosts, succeeded }: NumberedWave, started: number): unknown {
  if (number > started) return html`<span class="faint">not started (${hosts})</span>`;
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
