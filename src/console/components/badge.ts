import { html, type TemplateResult } from 'lit-html';
import type { Condition, Tone } from '../rules/condition.ts';
import { rolloutConditions } from '../rules/rolloutWords.ts';

/** A sign for each tone, so that colour is not the only difference. */
const signs: Record<Tone, string> = { good: '●', later: '◐', bad: '▲', idle: '○' };

/** A word with the colour and the sign of its tone. */
export function toneBadge(tone: Tone, word: string): TemplateResult {
  return html`<span class="badge ${tone}"><span aria-hidden="true">${signs[tone]}</span> ${word}</span>`;
}

/** The condition of a backend; what it means is told when pointed at, and by the page of the backend. */
export function conditionBadge({ tone, word, meaning }: Condition): TemplateResult {
  return html`<span title=${meaning}>${toneBadge(tone, word)}</span>`;
}

/** The state of a rollout; one that the console does not know yet is told by its word. */
export function rolloutBadge(state: string): TemplateResult {
  const known = rolloutConditions[state];
  return known ? conditionBadge(known) : toneBadge('idle', state);
}
