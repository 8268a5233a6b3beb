import type { BackendState } from '../../../machines/backend.ts';
import type { BackendOrder, SortColumn } from '../store/backendTable.ts';

/** States that are separated by commas, as the schema permits them. */
export function parseStates(text: string | undefined): BackendState[] | undefined {
  return text?.split(',') as BackendState[] | undefined;
}

/** An order as the schema permits it: a column, in descending order after a `-`; without one, by id. */
export function parseOrder(text = 'id'): BackendOrder {
  return { column: text.replace(/^-/, '') as SortColumn, isDescending: text.startsWith('-') };
}
