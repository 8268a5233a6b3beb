import { html, type TemplateResult } from 'lit-html';
import { shortSha } from '../rules/condition.ts';

/** The first characters of a digest; the whole is told when pointed at. */
export function digest(sha256: string | null): TemplateResult {
  return html`<code class="digest" title=${sha256 ?? 'none'}>${shortSha(sha256)}</code>`;
}

/** What a host runs, and what it is to run if that is something else. */
export function digestChange(applied: string | null, desired: string | null): TemplateResult {
  if (desired === null || applied === desired) return digest(applied);
  return html`<span>${digest(applied)} <span class="hidden">is to become</span>→ ${digest(desired)}</span>`;
}
