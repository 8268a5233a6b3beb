import { duplicateKeys, fieldsOf } from './json.rules.ts';

it('reads an object with any keys unchanged, and rejects lists', () => {
  expect(fieldsOf({ data: { any: [1] } }, 'secret').record('data')).toEqual({ any: [1] });
  expect(() =>
    fieldsOf({ data: { inner: [] } }, 'secret')
      .object('data')
      .record('inner'),
  ).toThrow('PROTOCOL_INVALID: secret: field data.inner is not an object');
});

it.each([
  ['{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}],"d":"a"}', []],
  ['{"a":1,"a":2,"a":3}', ['a', 'a']],
  ['{"a":{"b":{"c":1},"c":1,"b":2},"b":3}', ['a.b']],
  ['{"a":[1,{"b":1,"c":[2,{"x":1}],"b":2},{"d":0,"d":0}]}', ['a[1].b', 'a[2].d']],
  ['[[{"a":1,"a":1}]]', ['[0][0].a']],
  ['{"a":"}","b":"{\\"a\\":[","a" : "x"}', ['a']],
  ['{"\\u0061":1,"a":2}', ['a']],
  ['"a"', []],
])('of %s', (json, paths) => {
  expect(duplicateKeys(json)).toEqual(paths);
});
