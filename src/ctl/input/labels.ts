import { InvalidArgumentError } from 'commander';

/** Labels from words such as `ring=canary`; null if one is none, or a name comes twice. */
export function parseLabels(words: readonly string[]): Record<string, string> | null {
  const labels = words.map((word) => word.split('='));
  const names = new Set(labels.map(([name]) => name));
  const isValid = names.size === words.length && labels.every(([name, ...value]) => name !== '' && value.length === 1);
  return isValid ? (Object.fromEntries(labels) as Record<string, string>) : null;
}

/** As `parseLabels`, for options. */
export function labelsOption(words: readonly string[]): Record<string, string> {
  const labels = parseLabels(words);
  if (labels === null) throw new InvalidArgumentError('It must be NAME=VALUE,…, each name once.');
  return labels;
}

/** Labels as they are given. */
export function formatLabels(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}
