import { html, nothing, type TemplateResult } from 'lit-html';
import type { BackendDetails } from '../api/types.ts';
import { fullTime } from './time.ts';

/** What defers the work of a host, as its newest check-in told: an operator's hold, and windows that are closed. */
export function deferralNotices({ hold, window_opens_at: opening }: BackendDetails, now: number): TemplateResult {
  return html`${
    hold === undefined
      ? nothing
      : html`<div class="notice later">
          <p>
            ${hold.by ?? 'An operator'} holds it
            ${hold.since === undefined ? nothing : html`since ${fullTime(hold.since, now)},`} until
            ${fullTime(hold.until, now)} at most${hold.reason && `: ${hold.reason}`}
          </p>
          <p>Nothing is applied, healed or taken down on it until then.</p>
        </div>`
  }${
    opening === undefined
      ? nothing
      : html`<div class="notice later">
          <p>Its windows are closed; the next one opens ${fullTime(opening, now)}.</p>
        </div>`
  }`;
}
