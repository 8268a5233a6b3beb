import { html, nothing, type TemplateResult } from 'lit-html';
import { repeat } from 'lit-html/directives/repeat.js';
import type { SortDirection } from '../rules/listQuery.ts';

/** A column of a table; the first one names its rows. */
export interface Column<Row> {
  heading: string;
  cell: (row: Row) => unknown;
  /** How it is sorted, and where its heading leads to. */
  sort?: { direction: SortDirection; href: string };
  /** Numbers are aligned to the right. */
  isNumber?: boolean;
}

/** Rows, each by a key of its own, and what is shown where there are none. */
export interface TableContent<Row> {
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
