import { html, type TemplateResult } from 'lit-html';

/** The labels of a backend. */
export function labelList(labels: Record<string, string>): TemplateResult {
  const pairs = Object.entries(labels).sort(([one], [other]) => one.localeCompare(other));
  return html`<span class="labels"
    >${pairs.map(([key, value]) => html`<span class="label">${key}=${value}</span>`)}</span
  >`;
}
