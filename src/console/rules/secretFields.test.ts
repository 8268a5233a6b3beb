import { secretData } from './secretFields.ts';

it('takes the rows that have a name, with lines as they were typed', () => {
  const fields = new FormData();
  for (const [name, value] of [
    ['field-0', 'key'],
    ['value-0', 'a\r\nb'],
    ['field-1', ''],
    ['value-1', 'x'],
    ['field-3', 'empty'],
  ])
    fields.set(name!, value!);
  expect(secretData(fields)).toEqual({ key: 'a\nb', empty: '' });
});
