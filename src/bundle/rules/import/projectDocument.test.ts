import { importedBundle, importFiles } from '../../../../fixtures/import/importing.ts';

it.each([
  ['a byte order mark', '\ufeffservices: {a: {image: x}}\n', 'services: { a: { image: x } }'],
  ['tags without a meaning', 'services: !!map {a: !foo {image: !!str 5}}\n', "image: '5'"],
  ['a tagged merge', 'x: &x {image: x}\nservices: {a: {!!merge <<: *x}}\n', '<<: *x'],
  ['a directive', '%YAML 1.2\n---\nservices: {a: {image: x}}\n', 'services:'],
  ['keys without a value between braces', 'services: {a: {image: x}}\nvolumes: {b: , c: ~}\n', '{b: null, c: ~}'],
  ['an anchor with two meanings', 'x: [&a 1, &a 2]\nservices: {a: {image: *a}}\n', '*a-2'],
])('reads %s as compose does', (_, text, words) => {
  const { composeFiles } = importedBundle({ 'compose.yaml': text });
  expect(
    [...composeFiles.values()]
      .join('')
      .replaceAll('{a', '{ a')
      .replaceAll('{image', '{ image')
      .replaceAll('x}}', 'x } }'),
  ).toContain(words);
});

it.each([
  ['services: {a: {image: x}\n', 'compose.yaml:2'],
  ['services:\n  a: {image: x}\n  a: {image: y}\n', 'the key a a second time (compose.yaml:3)'],
  ['just text\n', 'a compose file must be a mapping (compose.yaml:1)'],
  ['services: {a: *b}\n', 'the alias *b points nowhere or into itself (compose.yaml:1)'],
  ['? [a]\n: b\n', 'a key that is not text (compose.yaml:1)'],
  ['volumes: {a: {}}\n', 'no compose file has a service'],
  [`services: ${'['.repeat(50)}${']'.repeat(50)}\n`, 'nested deeper than 40 levels'],
  [
    `a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n${[1, 2, 3, 4, 5].map((n) => `a${n}: &a${n} [${`*a${n - 1},`.repeat(10)}]\n`).join('')}`,
    'more than 50000 values',
  ],
  ['services: {a: {image: "hunter2" "hunter2"}}\n', 'compose.yaml:1'],
])('%j is no compose file', (text, problem) => {
  const found = importFiles({ 'compose.yaml': text });
  expect(found).toEqual({ problems: expect.arrayContaining([expect.stringContaining(problem)]) as string[] });
  expect(JSON.stringify(found)).not.toContain('hunter2');
});
