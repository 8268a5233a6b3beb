import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { BundleDiff, Difference, PartDifference, Rollout } from '../api/types.ts';
import { shortDigests, type Tone } from '../core/backends.rules.ts';
import type { SortDirection } from '../core/pages.rules.ts';
import { waveWords } from '../core/rollouts.rules.ts';
import { emptyState } from './page.ts';
import { toneBadge } from './words.ts';

/** A column of a table; the first one names its rows. */
export interface Column<Row> {
  heading: string;
  cell: (row: Row) => unknown;
  /** How it is sorted, and where its heading leads to. */
  sort?: { direction: SortDirection; href: string };
  /** Numbers are aligned to the right. */
  isNumber?: boolean;
}

/** Rows, each with its own key, and the content for an empty table. */
interface TableContent<Row> {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  empty: TemplateResult;
}

/** A table that becomes a list of cards on a narrow screen. */
export function table<Row>({ caption, columns, rows, keyOf, empty }: TableContent<Row>): TemplateResult {
  if (rows.length === 0) return empty;
  return html`<table>
    <caption class="hidden">
      ${caption}
    </caption>
    <thead>
      <tr>
        ${columns.map(headingCell)}
      </tr>
    </thead>
    <tbody>
      ${repeat(
        rows,
        keyOf,
        (row) =>
          html`<tr>
            ${columns.map((column, index) => bodyCell(column, row, index === 0))}
          </tr>`,
      )}
    </tbody>
  </table>`;
}

const arrows: Record<SortDirection, string> = { ascending: '↑', descending: '↓', none: '' };

function headingCell<Row>({ heading, sort, isNumber }: Column<Row>): TemplateResult {
  const kind = isNumber ? 'number' : nothing;
  if (sort === undefined) return html`<th scope="col" class=${kind}>${heading}</th>`;
  const { direction, href } = sort;
  const arrow = html`<span aria-hidden="true">${arrows[direction]}</span>`;
  return html`<th scope="col" class=${kind} aria-sort=${direction}>
    <a href=${href} data-keep>${heading} ${arrow}</a>
  </th>`;
}

function bodyCell<Row>({ heading, cell, isNumber }: Column<Row>, row: Row, isName: boolean): TemplateResult {
  if (isName) return html`<th scope="row">${cell(row)}</th>`;
  return html`<td data-heading=${heading} class=${isNumber ? 'number' : nothing}>${cell(row)}</td>`;
}

/** The differences between two bundles, kind by kind; privileges over hosts first. */
export function differences(diff: BundleDiff): TemplateResult {
  if (diff.same_content) return emptyState('Both contain the same files.');
  return html`${itemSection('Privileges over hosts', diff.privileges)} ${section('Manifest', diff.manifest)}
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

type NumberedWave = Rollout['waves'][number] & { number: number };

/** The waves of a rollout, each with its hosts by status. */
export function waveTable({ waves, started }: Rollout): TemplateResult {
  const columns: Column<NumberedWave>[] = [
    { heading: 'Wave', cell: ({ number }) => number },
    { heading: 'Takes', cell: waveWords },
    { heading: 'Progress', cell: (wave) => progressOf(wave, started) },
    { heading: 'Succeeded', isNumber: true, cell: ({ succeeded }) => succeeded },
    { heading: 'Failed', isNumber: true, cell: ({ failed }) => (failed > 0 ? toneBadge('bad', String(failed)) : 0) },
    { heading: 'Waiting', isNumber: true, cell: ({ waiting }) => waiting },
    { heading: 'Excused', isNumber: true, cell: ({ excused }) => excused },
    { heading: 'Offline', isNumber: true, cell: ({ offline, absent }) => offline + absent },
  ];
  const rows = waves.map((wave, index) => ({ ...wave, number: index + 1 }));
  return table({ caption: 'Waves', columns, rows, keyOf: ({ number }) => String(number), empty: emptyState('') });
}

function progressOf({ number, hosts, succeeded }: NumberedWave, started: number): unknown {
  if (number > started) return html`<span class="faint">not started (${hosts})</span>`;
  return html`<span class="waves"
    ><progress max=${hosts} value=${succeeded} aria-label="Wave ${number}"></progress> ${succeeded} of ${hosts}</span
  >`;
}
