import { html, nothing, type TemplateResult } from 'lit-html';
import type { Tone } from '../rules/condition.ts';

/** A number that leads to what it counts. */
export interface Count {
  name: string;
  count: number;
  tone: Tone;
  href: string;
  /** Whether the page shows what it counts. */
  isCurrent?: boolean;
}

/** Numbers, each a link to what it counts. */
export function counts(entries: readonly Count[]): TemplateResult {
  return html`<ul class="counts">
    ${entries.map(({ name, count, tone, href, isCurrent }) => {
      const kind = count === 0 ? 'idle' : tone;
      return html`<li class=${kind}>
        <a href=${href} data-keep aria-current=${isCurrent ? 'true' : nothing}>
          <strong>${count.toLocaleString('en')}</strong> <span>${name}</span>
        </a>
      </li>`;
    })}
  </ul>`;
}
