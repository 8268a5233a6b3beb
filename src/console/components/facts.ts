import { html, type TemplateResult } from 'lit-html';

/** Names with their values, in the order given. */
export function facts(entries: readonly (readonly [name: string, value: unknown])[]): TemplateResult {
  return html`<dl class="facts">
    ${entries.map(
      ([name, value]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${value}</dd>
        </div>`,
    )}
  </dl>`;
}
