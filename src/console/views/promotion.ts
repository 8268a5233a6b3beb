import { html, nothing, type TemplateResult } from 'lit-html';
import type { Bundle, EnvDetails, Webhook } from '../api/types.ts';
import { browserZone } from '../components/words.ts';
import type { Visit } from '../components/page.ts';
import { may } from '../core/pages.rules.ts';
import { judgeRollout, rolloutBounds, rolloutPlan } from '../core/rollouts.rules.ts';

/** Where a bundle is promoted or rolled out: its env, and the webhooks that a gate can be asked of there. */
export interface PromotionPlace {
  env: EnvDetails;
  gates: readonly Webhook[];
  visit: Visit;
}

/** What may be done with a bundle of an env: nothing while a rollout is at work, or with the desired one. */
export function bundleActs(bundle: Bundle, { env, gates, visit }: PromotionPlace): TemplateResult | typeof nothing {
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
    body: html`<p>Every host of the env is told to run it at its next check-in. Roll it out to begin with a few.</p>
      ${
        isBack && !bundle.allow_rollback
          ? html`<p>Its manifest does not allow the way back: hosts will refuse it.</p>`
          : nothing
      }`,
    confirm: isBack ? 'Roll back' : 'Promote',
    ...(bundle.production && { typed: env }),
    done: `${bundleName} is desired in ${env}.`,
    work: () => visit.api.promote(env, sha256),
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

/** What a wave waits for before the next one; webhooks by their ids. */
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
