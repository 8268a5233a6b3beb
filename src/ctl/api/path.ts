import { usageError } from '../ctlError.ts';

/** The path of a call: each value becomes one segment, so that no name can lead elsewhere. */
export function path(parts: TemplateStringsArray, ...segments: string[]): string {
  return parts.map((part, index) => part + segmentOf(segments[index])).join('');
}

function segmentOf(value: string | undefined): string {
  if (value === undefined) return '';
  if (['', '.', '..'].includes(value)) throw usageError('NAME_INVALID', `"${value}" is no name`);
  return encodeURIComponent(value.toWellFormed());
}
