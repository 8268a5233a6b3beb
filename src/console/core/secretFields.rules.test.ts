import { secretData, secretProblems } from './forms.rules.ts';

/** A form with rows of a name and a value. */
const formOf = (...rows: [string, string][]) => {
  const fields = new FormData();
  for (const [row, [name, value]] of rows.entries()) {
    fields.set(`field-${row}`, name);
    fields.set(`value-${row}`, value);
  }
  return fields;
};

it('takes the rows that have a name, with lines as they were typed', () => {
  const fields = formOf(['key', 'a\r\nb'], ['', ''], ['empty', '']);
  expect(secretData(fields)).toEqual({ key: 'a\nb', empty: '' });
  expect(secretProblems(fields)).toEqual({});
});

it('reports a value without a name, and each repeated name', () => {
  expect(secretProblems(formOf(['key', 'a'], ['', 'lost'], ['key', 'b'], ['key', '']))).toEqual({
    'field-1': expect.stringMatching(/no field/) as string,
    'field-2': expect.stringMatching(/the field key already/) as string,
    'field-3': expect.stringMatching(/the field key already/) as string,
  });
});
