import { html, nothing, svg, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { ReceivedReport } from '../api/types.ts';
import { outcomeTone } from '../rules/condition.ts';
import { explain } from '../rules/explanation.ts';
import { durationText } from '../rules/time.ts';
import { segmentsOf, totalOf } from '../rules/timeline.ts';
import { toneBadge } from './badge.ts';
import { digestChange } from './digest.ts';
import { facts } from './facts.ts';
import { fullTime } from './time.ts';

const BAR = { width: 400, height: 14 };

/** Ticks, newest first, each with a bar of its steps to the scale of the longest; opened, a tick tells all of it. */
export function tickList(reports: readonly ReceivedReport[], now: number): TemplateResult {
  const scale = Math.max(0, ...reports.map(({ durations_ms }) => totalOf(durations_ms)));
  return html`<ol class="ticks">
    ${repeat(
      reports,
      ({ report_id }) => report_id,
      (report) => html`<li>${tick(report, { scale, now })}</li>`,
    )}
  </ol>`;
}

function tick(report: ReceivedReport, { scale, now }: { scale: number; now: number }): TemplateResult {
  const { outcome, finished_at, durations_ms } = report;
  return html`<details>
    <summary>
      ${toneBadge(outcomeTone(outcome), outcome)}
      <span class="when">${fullTime(finished_at, now)}</span> ${bar(durations_ms, scale)}
      <span class="number">${durationText(totalOf(durations_ms))}</span>
    </summary>
    ${tickDetails(report)}
  </details>`;
}

function bar(durations: Readonly<Record<string, number>>, scale: number): TemplateResult {
  const { width, height } = BAR;
  return html`<svg class="bar" viewBox="0 0 ${width} ${height}" preserveAspectRatio="none" aria-hidden="true">
    ${segmentsOf(durations, { scale, width }).map(
      ({ x, width: length }, index) =>
        svg`<rect class="step-${index % 4}" x=${x} y="0" width=${Math.max(length, 0.5)} height=${height} />`,
    )}
  </svg>`;
}

/** Why a tick ended as it did, its steps, and the end of what compose said. */
export function tickDetails(report: ReceivedReport): TemplateResult {
  const { reason, code, detail, output_tail, applied_sha, desired_sha, durations_ms } = report;
  const steps = Object.entries(durations_ms).map(([name, milliseconds]) => `${name} ${durationText(milliseconds)}`);
  return html`<p>${explain(report)}</p>
    ${facts([
      ['Reason', html`<code>${reason}</code>`],
      ['Bundle', digestChange(applied_sha, desired_sha)],
      ...(code === null ? [] : [['Code', html`<code>${code}</code>`] as const]),
      ...(detail === null ? [] : [['Detail', detail] as const]),
      ['Steps', steps.join(', ')],
    ])}
    ${
      output_tail === null
        ? nothing
        : html`<pre tabindex="0" aria-label="End of the output"><code>${output_tail}</code></pre>`
    }`;
}
