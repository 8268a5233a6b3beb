import { html, nothing, type TemplateResult } from 'lit-html';
import { type Condition, shortSha, type Tone } from '../core/backends.rules.ts';
import { rolloutConditions } from '../core/rollouts.rules.ts';
import { absoluteTime, relativeTime } from '../core/time.rules.ts';

/** A sign for each tone, so that colour is not the only difference. */
const signs: Record<Tone, string> = { good: '●', later: '◐', bad: '▲', idle: '○' };

/** A word with the colour and the sign of its tone. */
export function toneBadge(tone: Tone, word: string): TemplateResult {
  return html`<span class="badge ${tone}"><span aria-hidden="true">${signs[tone]}</span> ${word}</span>`;
}

/** The condition of a backend; a tooltip and the page of the backend explain it. */
export function conditionBadge({ tone, word, meaning }: Condition): TemplateResult {
  return html`<span title=${meaning}>${toneBadge(tone, word)}</span>`;
}

/** The state of a rollout; an unknown state is shown by its name. */
export function rolloutBadge(state: string): TemplateResult {
  const known = rolloutConditions[state];
  return known ? conditionBadge(known) : toneBadge('idle', state);
}

/** A number with a link to the counted items. */
interface Count {
  name: string;
  count: number;
  tone: Tone;
  href: string;
  /** Whether the page shows what it counts. */
  isCurrent?: boolean;
}

/** Numbers, each with a link to the counted items. */
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

/** The labels of a backend. */
export function labelList(labels: Record<string, string>): TemplateResult {
  const pairs = Object.entries(labels).sort(([one], [other]) => one.localeCompare(other));
  return html`<span class="labels"
    >${pairs.map(([key, value]) => html`<span class="label">${key}=${value}</span>`)}</span
  >`;
}

/** The time zone of this browser. */
export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** The age of an event; a tooltip shows the time itself. */
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

/** The first characters of a digest; a tooltip shows the whole digest. */
export function digest(sha256: string | null): TemplateResult {
  return html`<code class="digest" title=${sha256 ?? 'none'}>${shortSha(sha256)}</code>`;
}

/** The bundle that a host runs, and the desired bundle if that is another one. */
export function digestChange(applied: string | null, desired: string | null): TemplateResult {
  if (desired === null || applied === desired) return digest(applied);
  return html`<span>${digest(applied)} <span class="hidden">is to become</span>→ ${digest(desired)}</span>`;
}

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

/** A text that people take elsewhere, and what it is. */
interface NamedText {
  name: string;
  text: string;
}

/** Which text was copied last, and what became of that. */
export interface Copying {
  told: { name: string; words: string } | null;
  redraw: () => void;
}

/** A text with a button that copies it, and shows beside it whether that succeeded. */
export function copyable({ name, text }: NamedText, copying: Copying): TemplateResult {
  const copy = async () => {
    const isCopied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    copying.told = { name, words: isCopied ? 'Copied.' : 'Not copied: select the text, and copy it.' };
    copying.redraw();
  };
  return html`<pre tabindex="0" aria-label=${name}><code>${text}</code></pre>
    <p>
      <button aria-label=${`Copy ${name}`} @click=${() => void copy()}>Copy</button>
      <span role="status">${copying.told?.name === name ? copying.told.words : ''}</span>
    </p>`;
}
