/** Rows of the form of a secret. */
export const fieldRows: readonly number[] = [0, 1, 2, 3];

/** The values of a secret by field; a row without a name is none. */
export function secretData(fields: Pick<FormData, 'get'>): Record<string, string> {
  const textOf = (name: string): string => {
    const text = fields.get(name);
    return typeof text === 'string' ? text : '';
  };
  const rows = fieldRows.map((row) => [textOf(`field-${row}`), unixLines(textOf(`value-${row}`))] as const);
  return Object.fromEntries(rows.filter(([name]) => name !== ''));
}

/** Forms send lines as of another system. */
function unixLines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
