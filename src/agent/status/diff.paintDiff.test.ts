import { paintDiff } from './diff.ts';

it('colours differences by their sign, and nothing else', () => {
  const text =
    'the bundles differ\n  before    v0\n  services  ~ web\n                + a: -\n            - db\n  after     v1';
  expect(paintDiff(text, (style, part) => `<${style}>${part}`).split('\n')).toEqual([
    'the bundles differ',
    '  before    v0',
    '  services  <yellow>~ web',
    '                <green>+ a: -',
    '            <red>- db',
    '  after     v1',
  ]);
});
