import { type ProjectFiles, resultOf } from '../../../fixtures/world/import/importing.ts';

const of = (section: string, part: string, files: ProjectFiles = {}) => {
  const text = `services: {a: {image: x}}\n${section}: {my-x: ${part}}\n`;
  const { top, secrets, copies, undecided } = resultOf({ 'compose.yaml': text, ...files });
  return { part: (top as Record<string, Record<string, unknown>>)[section]?.['my-x'], secrets, copies, undecided };
};
const fromStore = { part: { environment: 'MY_X' }, secrets: ['MY_X'], copies: [], undecided: [] };
const key = { k: '-----BEGIN PRIVATE KEY-----' };

it.each<[string, string, ProjectFiles]>([
  ['secrets', '{file: f}', {}],
  ['secrets', '{file: /run/f}', {}],
  ['secrets', '{external: true, name: n, driver: d, driver_opts: {a: b}}', {}],
  ['secrets', '{external: {name: n}}', {}],
  ['configs', '{file: k}', key],
  ['configs', '{file: ./k, external: false}', key],
])('the content of %s %s comes from the secretstore', (section, part, files) => {
  expect(of(section, part, files)).toEqual(fromStore);
});

it.each(['false', 'no', 'OFF', 'n'])('external: %s is not from outside', (word) => {
  expect(of('secrets', `{external: ${word}, content: c}`)).toMatchObject({ part: { content: 'c' }, secrets: [] });
  expect(of('configs', `{external: "${word}", content: c}`).undecided).toEqual([]);
});

it.each(['nofalse', 'falsey', 'true'])('external: %s is from outside', (word) => {
  expect(of('configs', `{external: ${word}}`).undecided).toHaveLength(1);
});

it('a secret of the environment is one, whatever its name', () => {
  expect(of('secrets', '{environment: PLAIN}')).toEqual({
    ...{ part: { environment: 'PLAIN' }, secrets: ['PLAIN'], copies: [], undecided: [] },
  });
  expect(of('configs', '{environment: PLAIN}', { '.env': 'PLAIN=1' })).toMatchObject({ secrets: [] });
});

it.each<[string, string, string[]]>([
  ['f', 'f', ['f']],
  ['./f', './f', ['f']],
  ['../f', './parent/f', ['parent/f']],
])('the file %s of a config comes along as %s', (file, expected, copies) => {
  expect(of('configs', `{file: ${file}}`, { f: '', '../f': '' })).toMatchObject({ part: { file: expected }, copies });
});

it.each(['/f', '~/f', 'none', 'd', 'x/~f'])('the file %s of a config is left open', (file) => {
  const files = { '~/f': '', f: '', 'd/f': '' };
  expect(of('configs', `{file: ${file}}`, files)).toMatchObject({ part: { file }, copies: [] });
  expect(of('configs', `{file: ${file}}`, files).undecided).toEqual([
    `config my-x: file: ${file} is not a file of the project → make it one`,
  ]);
});

it('two secrets whose names differ in case alone are two', () => {
  const text = 'services: {a: {image: x}}\nsecrets: {token: {file: f}, TOKEN: {file: f}}\n';
  expect(resultOf({ 'compose.yaml': text }).secrets).toEqual(['TOKEN', 'FILE_TOKEN']);
});

it('a file that a variable decides stays', () => {
  const { undecided } = of('configs', '{file: "$F"}');
  expect(undecided.every((line) => !line.includes('no file of the project'))).toBe(true);
});
