import { html, type TemplateResult } from 'lit-html';
import { unsafeSVG } from 'lit-html/directives/unsafe-svg.js';
import picture from '../../../docs/machines/backend.svg';

/** The picture without its own style, which the policy of the page would not apply. */
const drawing = picture.replace(/<style>[^]*?<\/style>/, '');

/** The life of a backend as docs/machines.md draws it, with the state that it is in. */
export function backendMachine(state: string): TemplateResult {
  const marked = drawing.replace(`id="backend.${state}" class="`, (start) => `${start}now `);
  return html`<figure class="machine-frame" tabindex="0" aria-label="States of a backend">
    ${unsafeSVG(marked)}
    <figcaption>It is <strong>${state}</strong>.</figcaption>
  </figure>`;
}
