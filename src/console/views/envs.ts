import { html, nothing, type TemplateResult } from 'lit-html';
import type { Bundle, EnvDetails, NewRollback, Rollout, RolloutHosts, Webhook } from '../api/types.ts';
import { type Column, table, waveTable } from '../components/lists.ts';
import { emptyState, type Page, type Visit } from '../components/page.ts';
import { browserZone, counts, digest, facts, fullTime, rolloutBadge, timeAgo, toneBadge } from '../components/words.ts';
import { hostName, stateConditions } from '../core/backends.rules.ts';
import { hrefOf, may } from '../core/pages.rules.ts';
import {
  gateWebhooks,
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
} from '../core/rollouts.rules.ts';
import { heldNotice } from './restore.ts';

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
  const running = newest !== undefined && rolloutActs(newest.state).length > 0 ? newest : null;
  const { hosts } = running ? await api.rolloutHosts(name) : { hosts: [] };
  return {
    title: name,
    topics: ['envs', 'rollouts', 'bundles', 'backends', 'webhooks'],
    body: (now) =>
      html`<h1>${name} ${env.production ? toneBadge('idle', 'production') : nothing}</h1>
        <p><a href=${hrefOf('secrets', { env: name })}>Secrets</a></p>
        ${heldNotice([env])} ${hostCounts(env)} ${desiredBundle(env, now)}
        ${running ? rolloutSection(running, hosts, { visit, now }) : nothing}
        <h2>Bundles</h2>
        ${bundleTable(bundles, { env, running, gates: gateWebhooks(webhooks, name), visit, now })}
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

interface BundleTable extends Omit<PromotionPlace, 'newest'> {
  now: number;
}

function bundleTable(bundles: readonly Bundle[], { now, ...rest }: BundleTable): TemplateResult {
  const { env, running } = rest;
  const deployed = bundles.filter(({ sha256 }) => sha256 === env.desired_sha || sha256 === running?.sha256);
  const place = { ...rest, newest: Math.max(env.desired?.sequence ?? 0, ...deployed.map(({ sequence }) => sequence)) };
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
      cell: (bundle) => (bundle.sha256 === env.desired_sha ? toneBadge('good', 'desired') : bundleActs(bundle, place)),
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
  running: Rollout | null;
  /** Sequence of the newest bundle that is desired of any host. */
  newest: number;
  gates: readonly Webhook[];
  visit: Visit;
}

/** The possible actions on a bundle of an environment. During a rollout, others can only take its place. */
function bundleActs(bundle: Bundle, place: PromotionPlace): TemplateResult | typeof nothing {
  const { env, running, newest, visit } = place;
  if (!may(visit.caller, 'deployer', env.name) || bundle.sha256 === running?.sha256) return nothing;
  const isBack = bundle.sequence < newest;
  return html`<div class="actions">
    <button @click=${() => askToPromote(bundle, { ...place, isBack })}>${isBack ? 'Roll back' : 'Promote'}</button>
    ${
      running !== null
        ? nothing
        : html`<button @click=${() => askForRollout(bundle, { ...place, isBack })}>Roll out</button>`
    }
  </div>`;
}

type Promotion = PromotionPlace & { isBack: boolean };

function askToPromote(bundle: Bundle, { isBack, running, visit }: Promotion): void {
  const { env, name, version, sha256 } = bundle;
  const bundleName = `${name} ${version}`;
  const body = { sha256, ...(running !== null && { override_rollout: true }) };
  visit.ask({
    title: isBack ? `Roll ${env} back to ${bundleName}?` : `Promote ${bundleName} in ${env}?`,
    body: html`${running === null ? nothing : html`<p><strong>The rollout of the environment is aborted.</strong></p>`}
      <p>Every host of the environment runs it from its next check-in on. Roll it out to begin with a few hosts.</p>
      ${isBack ? rollbackHint() : nothing}`,
    confirm: isBack ? 'Roll back' : 'Promote',
    isDangerous: running !== null,
    ...(bundle.production && { typed: env }),
    done: isBack
      ? `The content of ${bundleName} is desired in ${env}, or awaits signatures.`
      : `${bundleName} is desired in ${env}.`,
    work: () => (isBack ? rollBack(visit, env, body) : visit.api.promote(env, body)),
  });
}

function rollbackHint(): TemplateResult {
  return html`<p>
    Its content gets a new sequence, and keeps the present versions of secrets. Hosts that run it keep it, and so do
    newer hosts whose policy denies rollbacks.
  </p>`;
}

/** Rolls back, and shows in a dialog what is left to do. */
async function rollBack(visit: Visit, env: string, body: NewRollback): Promise<void> {
  const left = rollbackWords(await visit.api.rollBack(env, body));
  if (left.length === 0) return;
  const title = `${env} has not returned completely`;
  const close = { confirm: 'Close', done: title, work: () => Promise.resolve() };
  visit.ask({ title, body: html`${left.map((text) => html`<p>${text}</p>`)}`, ...close });
}

function askForRollout({ env, name, version, sha256 }: Bundle, { isBack, gates, visit }: Promotion): void {
  const { api } = visit;
  visit.ask({
    title: isBack ? `Roll ${env} back to ${name} ${version} in waves` : `Roll ${name} ${version} out in ${env}`,
    body: html`${isBack ? rollbackHint() : nothing}<label
        >Waves, one in each line
        <textarea name="waves" rows="3" spellcheck="false" .defaultValue=${'1\n25%'}></textarea>
      </label>
      ${waveHint()}
      <label
        >Windows in which waves may start, one in each line
        <textarea name="windows" rows="2" spellcheck="false"></textarea>
      </label>
      <p class="hint">At any time without one; else such as <code>mon-fri 08:30+90 ${browserZone()}</code>.</p>
      ${limitFields({ max_failures: 0, soak_s: 300 })} ${gateChoice(env, gates)}`,
    confirm: 'Start',
    done: 'The rollout has started.',
    judge: judgeRollout,
    work: (fields) => {
      const plan = rolloutPlan(fields);
      return isBack ? rollBack(visit, env, { sha256, plan }) : api.startRollout(env, { sha256, ...plan });
    },
  });
}

function waveHint(): TemplateResult {
  return html`<p class="hint">
    A number of hosts, a percentage, or all; of hosts with labels: <code>10%:ring=canary</code>. One after another.
  </p>`;
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
function askToEdit(rollout: Rollout, { ask, api }: Visit): void {
  const { env, deadline_s } = rollout;
  ask({
    title: `Edit the rollout of ${env}`,
    body: html`<label
        >Waves that replace those that have not started, one in each line; empty: they stay
        <textarea name="waves" rows="3" spellcheck="false"></textarea>
      </label>
      ${waveHint()} ${limitFields(rollout)}
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
      <div class="actions">
        ${acts.map((act) => actButton(act, rollout, visit))}
        ${acts.length === 0 ? nothing : html`<button @click=${() => askToEdit(rollout, visit)}>Edit</button>`}
      </div>
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
    ${waveTable(rollout)} ${memberTable(rollout, hosts, { visit, now, maySkipHosts: acts.length > 0 })}
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
    { heading: 'Status', cell: ({ status }) => (status === 'failed' ? toneBadge('bad', status) : status) },
    { heading: 'Last seen', cell: ({ last_seen_at }) => (last_seen_at === null ? '–' : timeAgo(last_seen_at, now)) },
    { heading: 'Deferred by', cell: ({ deferred_by }) => deferred_by ?? '–' },
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

function awaitedHosts({ awaited_hosts }: Rollout): TemplateResult | typeof nothing {
  if (awaited_hosts.length === 0) return nothing;
  return html`<p>The wave waits for: ${awaited_hosts.map(hostName).join(', ')}</p>`;
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
