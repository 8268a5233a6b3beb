import { html, nothing, type TemplateResult } from 'lit-html';
import type { Bundle, EnvDetails } from '../api/types.ts';
import { textOf } from '../components/dialog.ts';
import type { Visit } from '../page.ts';
import { may } from '../rules/permission.ts';

/** What may be done with a bundle of an env: nothing while a rollout is at work, or with the desired one. */
export function bundleActs(bundle: Bundle, env: EnvDetails, visit: Visit): TemplateResult | typeof nothing {
  if (!may(visit.caller, 'deployer', env.name) || bundle.sha256 === env.desired_sha) return nothing;
  const isBack = env.desired !== null && bundle.sequence < env.desired.sequence;
  return html`<div class="actions">
    <button @click=${() => askToPromote(bundle, { isBack, visit })}>${isBack ? 'Roll back' : 'Promote'}</button>
    <button @click=${() => askForRollout(bundle, visit)}>Roll out</button>
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

function askForRollout({ env, name, version, sha256 }: Bundle, { ask, api }: Visit): void {
  ask({
    title: `Roll ${name} ${version} out in ${env}`,
    body: html`<p>One wave after another; after the last one come all hosts that are left.</p>
      <label>First wave, in hosts <input name="first" type="number" min="1" value="1" required /></label>
      <label>Second wave, in percent <input name="second" type="number" min="1" max="100" value="25" required /></label>
      <label>Failures that do not halt it <input name="failures" type="number" min="0" value="0" required /></label>
      <label>Soak after each wave, in seconds <input name="soak" type="number" min="0" value="300" required /></label>
      <label class="toggle"><input type="checkbox" name="gate" /> Wait for somebody after each wave</label>
      <p class="hint">Labels and windows: <code>deployctl rollout start --help</code></p>`,
    confirm: 'Start',
    done: 'The rollout has started.',
    work: (fields) =>
      api.startRollout(env, {
        sha256,
        waves: [{ count: numberOf(fields, 'first') }, { percent: numberOf(fields, 'second') }],
        max_failures: numberOf(fields, 'failures'),
        soak_s: numberOf(fields, 'soak'),
        gate: fields.has('gate') ? 'manual' : 'none',
        windows: [],
      }),
  });
}

function numberOf(fields: FormData, name: string): number {
  return Number(textOf(fields, name));
}
