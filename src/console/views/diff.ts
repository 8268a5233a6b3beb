import { html, type TemplateResult } from 'lit-html';
import { ApiError } from '../api/createApi.ts';
import type { Bundle } from '../api/types.ts';
import { differences } from '../components/lists.ts';
import { textOf } from '../components/dialog.ts';
import { emptyState, errorNotice, type Page, type Visit } from '../components/page.ts';
import { type Comparison, comparisonOf } from '../core/forms.rules.ts';
import { shortSha } from '../core/backends.rules.ts';
import { hrefOf } from '../core/pages.rules.ts';

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
