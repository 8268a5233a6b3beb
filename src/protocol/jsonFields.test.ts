import { fieldsOf } from './jsonFields.ts';

it('reads an object of any keys as it is, and no list', () => {
  expect(fieldsOf({ data: { any: [1] } }, 'secret').record('data')).toEqual({ any: [1] });
  expect(() =>
    fieldsOf({ data: { inner: [] } }, 'secret')
      .object('data')
      .record('inner'),
  ).toThrow('PROTOCOL_INVALID: secret: field data.inner is not an object');
});
