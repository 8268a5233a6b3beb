/** Labels from words such as `ring=canary`; null if one is none, or a name comes twice. */
export function parseLabels(words: readonly string[]): Record<string, string> | null {
  const labels = words.map((word) => word.split('='));
  const names = new Set(labels.map(([name]) => name));
  const isValid = names.size === words.length && labels.every(([name, ...value]) => name !== '' && value.length === 1);
  return isValid ? (Object.fromEntries(labels) as Record<string, string>) : null;
}
