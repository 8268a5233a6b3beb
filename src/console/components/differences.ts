import { html, nothing, type TemplateResult } from 'lit-html';
import type { BundleDiff, Difference, PartDifference } from '../api/types.ts';
import { shortDigests, type Tone } from '../rules/condition.ts';
import { toneBadge } from './badge.ts';
import { emptyState } from './notice.ts';
import { table, type Column } from './table.ts';

/** What differs between two bundles, kind by kind; the powers over hosts first. */
export function differences(diff: BundleDiff): TemplateResult {
  if (diff.same_content) return emptyState('Both have the same files.');
  return html`${itemSection('Powers over hosts', diff.powers)} ${section('Manifest', diff.manifest)}
  ${partSection('Services', diff.services)} ${partSection('Networks, volumes, configs and secrets', diff.resources)}
  ${itemSection('Images', diff.images)} ${section('Variables', diff.variables)} ${section('Secrets', diff.secrets)}
  ${section('Files', diff.files)}`;
}

function section(name: string, entries: readonly Difference[]): TemplateResult | typeof nothing {
  if (entries.length === 0) return nothing;
  return html`<h2>${name}</h2>
    ${differenceTable(name, entries)}`;
}

/** Things that are there or not, and have no other values. */
function itemSection(name: string, rows: readonly Difference[]): TemplateResult | typeof nothing {
  if (rows.length === 0) return nothing;
  const columns: Column<Difference>[] = [
    { heading: 'What', cell: ({ before, after }) => valueOf(before ?? after) },
    { heading: 'Change', cell: ({ before }) => changeBadge(before === null ? 'added' : 'removed') },
  ];
  return html`<h2>${name}</h2>
    ${table({ caption: name, columns, rows, keyOf, empty: emptyState('') })}`;
}

const changeTones: Record<PartDifference['change'], Tone> = { added: 'good', changed: 'later', removed: 'idle' };

function changeBadge(change: PartDifference['change']): TemplateResult {
  return toneBadge(changeTones[change], change);
}

function partSection(name: string, parts: readonly PartDifference[]): TemplateResult | typeof nothing {
  if (parts.length === 0) return nothing;
  return html`<h2>${name}</h2>
    ${parts.map(
      (part) =>
        html`<h3>${part.name} ${changeBadge(part.change)}</h3>
          ${part.change === 'removed' ? nothing : differenceTable(part.name, part.keys)}`,
    )}`;
}

function differenceTable(caption: string, rows: readonly Difference[]): TemplateResult {
  const columns: Column<Difference>[] = [
    { heading: 'What', cell: ({ key }) => html`<span class="target">${key}</span>` },
    { heading: 'Before', cell: ({ before }) => valueOf(before) },
    { heading: 'After', cell: ({ after }) => valueOf(after) },
  ];
  return table({ caption, columns, rows, keyOf, empty: emptyState('It has no keys.') });
}

function keyOf(difference: Difference): string {
  return JSON.stringify(difference);
}

function valueOf(value: string | null): TemplateResult | string {
  return value === null ? '–' : html`<code class="target">${shortDigests(value)}</code>`;
}
