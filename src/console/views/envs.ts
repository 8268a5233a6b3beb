import { html, nothing, type TemplateResult } from 'lit-html';
import { ApiError } from '../api/createApi.ts';
import type { Bundle, EnvDetails, Rollout, Webhook } from '../api/types.ts';
import { troubleList } from '../components/backend.ts';
import { type Column, differences, table } from '../components/lists.ts';
import { emptyState, errorNotice, type Page, textOf, type Visit } from '../components/page.ts';
import { digest, facts, fullTime, timeAgo, toneBadge } from '../components/words.ts';
import { shortSha } from '../core/backends.rules.ts';
import { type Comparison, comparisonOf } from '../core/forms.rules.ts';
import { hrefOf, may } from '../core/pages.rules.ts';
import { gateWebhooks, rolloutActs } from '../core/rollouts.rules.ts';
import { fleetCounts } from './fleet.ts';
import { heldNotice } from './restore.ts';
import { askForRollout, rollBack, rollbackHint, rolloutSection, rolloutTable } from './rollouts.ts';

/** One env: what is desired of its hosts, its rollout and its bundles. */
export const envPage: Page = async (visit) => {
  const { env: name = '' } = visit.params;
  const { api } = visit;
  const [env, { bundles }, { rollouts }, { webhooks }, { envs }, trouble] = await Promise.all([
    api.env(name),
    api.bundles(name),
    api.rollouts(name),
    api.webhooks(),
    api.fleet(),
    api.trouble({ env: name }),
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
        ${heldNotice([env])}
        ${fleetCounts(
          envs.filter((each) => each.name === name),
          new URLSearchParams(),
          name,
        )}
        ${troubleList(trouble, now)} ${desiredBundle(env, { bundles, running, visit, now })}
        ${running ? rolloutSection(running, hosts, { visit, now }) : nothing}
        <h2>Bundles</h2>
        ${bundleTable(bundles, { env, running, gates: gateWebhooks(webhooks, name), visit, now })}
        <h2>Rollouts</h2>
        ${rolloutTable(name, rollouts, now)}`,
  };
};

/** The bundles of an environment, and its rollout that is not over. */
interface Deployed {
  bundles: readonly Bundle[];
  running: Rollout | null;
  visit: Visit;
  now: number;
}

function desiredBundle(env: EnvDetails, { bundles, running, visit, now }: Deployed): TemplateResult {
  const { name, desired, desired_since } = env;
  if (desired === null)
    return emptyState('Its hosts are to run nothing yet. Promote a bundle:', `deployctl promote ${name} SHA`);
  const known = bundles.find(({ sha256 }) => sha256 === env.previous_sha);
  const previous = known === undefined ? shortSha(env.previous_sha) : nameOf(known);
  const back = running !== null ? nameOf(desired) : env.previous_sha === null ? null : previous;
  return html`<div class="heading">
      <h2>Desired bundle</h2>
      ${back !== null && may(visit.caller, 'deployer', name) ? html`<button @click=${() => askToUndo(desired, { back, running, visit })}>Undo</button>` : nothing}
    </div>
    ${facts([
      ['Bundle', html`<strong>${desired.name} ${desired.version}</strong> ${digest(desired.sha256)}`],
      ['Sequence', desired.sequence],
      ['Desired', desired_since === null ? 'unknown' : fullTime(desired_since, now)],
      ['Pushed', html`${fullTime(desired.received_at, now)} by ${desired.received_from}`],
      ['Signatures', signatureOf(desired)],
    ])}`;
}

/** Returns to the bundle that was desired before: during a rollout, to the one from before it. */
function askToUndo(
  { env, name, version, sha256, production }: Bundle,
  { back, running, visit }: Pick<Deployed, 'running' | 'visit'> & { back: string },
): void {
  visit.ask({
    title: running === null ? `Undo ${name} ${version} in ${env}?` : `Undo the rollout in ${env}?`,
    body: html`<p>
        ${running === null ? nothing : 'The rollout is aborted. '}<strong>${back}</strong> becomes the desired bundle of
        every host again.
      </p>
      ${rollbackHint()}
      <p>To return to another bundle, or in waves, use the list of bundles.</p>`,
    confirm: 'Undo',
    ...(production && { typed: env }),
    done: `${env} returns to ${back}.`,
    work: () => rollBack(visit, env, { if_desired: sha256, override_rollout: running !== null }),
  });
}

function nameOf({ name, version, sha256 }: Bundle): string {
  return `${name} ${version} (${shortSha(sha256)})`;
}

interface BundleTable extends Omit<PromotionPlace, 'newest' | 'newestContent'> {
  now: number;
}

function bundleTable(bundles: readonly Bundle[], { now, ...rest }: BundleTable): TemplateResult {
  const { env, running } = rest;
  const deployed = bundles.filter(({ sha256 }) => sha256 === env.desired_sha || sha256 === running?.sha256);
  const newestBy = (sequenceOf: (bundle: Bundle) => number) =>
    Math.max(0, ...[...(env.desired === null ? [] : [env.desired]), ...deployed].map(sequenceOf));
  const place = {
    ...rest,
    newest: newestBy(({ sequence }) => sequence),
    newestContent: newestBy(({ sequence, returns_to }) => returns_to ?? sequence),
  };
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

/** Where a bundle is promoted or rolled out: its env, and the webhooks that a gate can be asked of there. */
interface PromotionPlace {
  env: EnvDetails;
  running: Rollout | null;
  /** Sequence of the newest bundle that is desired of any host. */
  newest: number;
  /** The sequence that the newest desired content had first; a rollback gives it a higher one. */
  newestContent: number;
  gates: readonly Webhook[];
  visit: Visit;
}

/** The possible actions on a bundle of an environment. During a rollout, others can only take its place. */
function bundleActs(bundle: Bundle, place: PromotionPlace): TemplateResult | typeof nothing {
  const { env, running, newest, newestContent, visit } = place;
  if (!may(visit.caller, 'deployer', env.name) || bundle.sha256 === running?.sha256) return nothing;
  const isBack = bundle.sequence < newest;
  const isOlder = bundle.sequence < newestContent;
  return html`<div class="actions">
    <button @click=${() => askToPromote(bundle, { ...place, isBack, isOlder })}>
      ${isOlder ? 'Roll back' : 'Promote'}
    </button>
    ${
      running !== null
        ? nothing
        : html`<button @click=${() => visit.attempt(() => askForRollout(bundle, { ...place, isBack, isOlder }))}>
            Roll out
          </button>`
    }
  </div>`;
}

/** Whether the content needs a new sequence, and whether it is older than the desired one. */
type Promotion = PromotionPlace & { isBack: boolean; isOlder: boolean };

function askToPromote(bundle: Bundle, { isBack, isOlder, running, visit }: Promotion): void {
  const { env, name, version, sha256 } = bundle;
  const bundleName = `${name} ${version}`;
  const body = { sha256, ...(running !== null && { override_rollout: true }) };
  visit.ask({
    title: isOlder ? `Roll ${env} back to ${bundleName}?` : `Promote ${bundleName} in ${env}?`,
    body: html`${running === null ? nothing : html`<p><strong>The rollout of the environment is aborted.</strong></p>`}
      <p>Every host of the environment runs it from its next check-in on. Roll it out to begin with a few hosts.</p>
      ${isBack ? rollbackHint() : nothing}`,
    confirm: isOlder ? 'Roll back' : 'Promote',
    isDangerous: running !== null,
    ...(bundle.production && { typed: env }),
    done: isBack
      ? `The content of ${bundleName} is desired in ${env}, or awaits signatures.`
      : `${bundleName} is desired in ${env}.`,
    work: () => (isBack ? rollBack(visit, env, body) : visit.api.promote(env, body)),
  });
}

/** The changes from one bundle of an environment to another one. */
export const diffPage: Page = async (visit) => {
  const { api, query, params } = visit;
  const { env = '' } = params;
  const [{ desired_sha }, { bundles }] = await Promise.all([api.env(env), api.bundles(env)]);
  const comparison = comparisonOf(query, desired_sha, bundles);
  const told = await changesOf(comparison, bundles, visit);
  return {
    title: `Changes in ${env}`,
    // Bundles never change.
    topics: [],
    body: () =>
      html`<p><a href=${hrefOf('env', { env })}>${env}</a></p>
        <h1>Changes</h1>
        ${choice(comparison, { bundles, desiredSha: desired_sha, visit })} ${told}
        <p class="hint">
          Values of environments, commands, labels and options are not shown: <code>deployctl bundle fetch</code> gets
          the bundles, and <code>deployctl bundle diff</code> compares them.
        </p>`,
  };
};

/** An error is shown with the choice of other bundles; without an answer, the page is loaded again. */
async function changesOf(
  { from, to }: Comparison,
  bundles: readonly Bundle[],
  { api, params: { env = '' } }: Visit,
): Promise<TemplateResult> {
  if (from === null || to === null) return nothingBefore(bundles);
  try {
    return differences(await api.diff({ env, from, to }));
  } catch (error) {
    if (error instanceof ApiError && error.code !== 'UNREACHABLE') return errorNotice(error);
    throw error;
  }
}

function nothingBefore(bundles: readonly Bundle[]): TemplateResult {
  return bundles.length > 1
    ? emptyState('No bundle from before it is listed. Choose the one to compare it with.')
    : emptyState('There is no other bundle to compare with. Pack and push one:', 'deployctl bundle pack shop --next');
}

interface Choice {
  bundles: readonly Bundle[];
  desiredSha: string | null;
  visit: Visit;
}

/** Which two are compared. */
function choice({ from, to }: Comparison, { bundles, desiredSha, visit }: Choice): TemplateResult {
  const choose = (event: Event) => {
    const fields = new FormData(event.currentTarget as HTMLFormElement);
    visit.setQuery(new URLSearchParams({ from: textOf(fields, 'from'), to: textOf(fields, 'to') }));
  };
  const select = (name: string, label: string, chosen: string | null) =>
    html`<label
      >${label}
      <select name=${name}>
        ${optionsOf(bundles, chosen).map(
          ({ sha256, text }) =>
            html`<option value=${sha256} .selected=${sha256 === chosen}>
              ${text}${sha256 === desiredSha ? ', desired' : ''}
            </option>`,
        )}
      </select>
    </label>`;
  return html`<form class="filter" aria-label="Compared bundles" @change=${choose}>
    ${select('from', 'From', from)} ${select('to', 'To', to)}
  </form>`;
}

/** The bundles that are listed, and the chosen one if that is older. */
function optionsOf(bundles: readonly Bundle[], chosen: string | null): { sha256: string; text: string }[] {
  const listed = bundles.map(({ sha256, name, version, sequence }) => ({
    sha256,
    text: `${name} ${version}, sequence ${sequence}`,
  }));
  if (listed.some(({ sha256 }) => sha256 === chosen)) return listed;
  return [{ sha256: chosen ?? '', text: chosen === null ? 'none' : shortSha(chosen) }, ...listed];
}
