import { duplicateKeys } from './json.rules.ts';

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

it('reports the first hundred of many duplicate keys, however deep they are', () => {
  const depth = 20_000;
  const json = `${'{"a":'.repeat(depth)}{${'"b":1,'.repeat(20_000)}"b":1}${'}'.repeat(depth)}`;
  const began = performance.now();
  const paths = duplicateKeys(json);
  expect([paths.length, paths.at(-1)!.length]).toEqual([100, 2 * depth + 1]);
  expect(performance.now() - began).toBeLessThan(2000);
});

it('reads arrays that are nested deeper than the stack', () => {
  expect(duplicateKeys(`${'['.repeat(100_000)}{"a":1,"a":1}${']'.repeat(100_000)}`)).toHaveLength(1);
});
