/** Rows of the form of a secret. */
export const fieldRows: readonly number[] = [0, 1, 2, 3];

type Fields = Pick<FormData, 'get'>;

/** The values of a secret by field; a row without a name is none. */
export function secretData(fields: Fields): Record<string, string> {
  const rows = rowsOf(fields).map(({ name, value }) => [name, unixLines(value)] as const);
  return Object.fromEntries(rows.filter(([name]) => name !== ''));
}

/** What would be lost of the rows, by the input that is to be changed: values without a name, and those of one name. */
export function secretProblems(fields: Fields): Record<string, string> {
  const rows = rowsOf(fields);
  const problems = rows.flatMap(({ name, value, input }, index): [string, string][] => {
    if (name === '' && value !== '') return [[input, 'This value has no field: name one, or remove the value.']];
    const isSecond = name !== '' && rows.slice(0, index).some((row) => row.name === name);
    return isSecond ? [[input, `Another value has the field ${name} already: each field has one value.`]] : [];
  });
  return Object.fromEntries(problems);
}

function rowsOf(fields: Fields) {
  const textOf = (name: string): string => {
    const text = fields.get(name);
    return typeof text === 'string' ? text : '';
  };
  return fieldRows.map((row) => {
    const input = `field-${row}`;
    return { input, name: textOf(input), value: textOf(`value-${row}`) };
  });
}

/** Forms send lines as of another system. */
function unixLines(text: string): string {
  return text.replaceAll('\r\n', '\n');
}
