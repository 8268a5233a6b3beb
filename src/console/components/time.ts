import { html, type TemplateResult } from 'lit-html';
import { absoluteTime, relativeTime } from '../rules/time.ts';

/** The time zone of this browser. */
export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** How long ago something was; the time itself is told when pointed at. */
export function timeAgo(time: string | null, now: number): TemplateResult {
  if (time === null) return html`<span class="faint">never</span>`;
  return html`<time datetime=${time} title=${absoluteTime(time, browserZone())}>${relativeTime(time, now)}</time>`;
}

/** A time in the zone of this browser, which the foot of each page names, and how long ago it was. */
export function fullTime(time: string | null, now: number): TemplateResult {
  if (time === null) return html`<span class="faint">never</span>`;
  const text = absoluteTime(time, browserZone());
  return html`<time datetime=${time}>${text}</time> <span class="faint">${relativeTime(time, now)}</span>`;
}
