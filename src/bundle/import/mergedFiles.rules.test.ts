import { parse } from 'yaml';
import { importedBundle, importFiles, linesOf, type ProjectFiles } from '../../../fixtures/world/import/importing.ts';

const parsed = (files: ProjectFiles, names: string[]) => {
  const { composeFiles } = importedBundle(files, {}, names);
  return Object.fromEntries([...composeFiles].map(([path, text]) => [path, parse(text, { merge: true }) as unknown]));
};
const web = (keys: string) => `services: {a: {image: x${keys}}}\n`;

describe('a file that resets', () => {
  it.each<[string, string, object, object]>([
    ['{image: x, tty: true}', '{tty: !reset }', { image: 'x' }, {}],
    ['{image: x, ports: [a]}', '{ports: !override [b]}', { image: 'x' }, { ports: ['b'] }],
    [
      '{image: x, deploy: {mode: a, replicas: 2}}',
      '{deploy: {mode: !reset }}',
      { image: 'x', deploy: { replicas: 2 } },
      { deploy: {} },
    ],
    [
      '{image: x, deploy: {mode: a}}',
      '{deploy: !override {mode: !reset , x: 1}}',
      { image: 'x' },
      { deploy: { x: 1 } },
    ],
    ['{image: x}', '{tty: !reset }', { image: 'x' }, {}],
  ])('takes keys out of those before: %s, %s', (before, after, first, last) => {
    const files = { 'a.yaml': `services: {a: ${before}}\n`, 'b.yaml': `services: {a: ${after}}\n` };
    expect(parsed(files, ['a.yaml', 'b.yaml'])).toEqual({
      'a.yaml': { services: { a: first } },
      'b.yaml': { services: { a: last } },
    });
  });

  it('takes nothing out of those behind', () => {
    const files = { 'a.yaml': web(', tty: !reset '), 'b.yaml': web(', tty: true') };
    expect(parsed(files, ['a.yaml', 'b.yaml'])).toEqual({
      'a.yaml': { services: { a: { image: 'x' } } },
      'b.yaml': { services: { a: { image: 'x', tty: true } } },
    });
  });

  it('follows aliases, and shows the content of a merge', () => {
    const files = {
      'a.yaml': 'x-a: &a {image: x, tty: true}\nservices: {a: *a, b: {<<: *a}}\n',
      'b.yaml': 'services: {a: {tty: !reset }, b: {tty: !reset , deploy: {mode: !reset }}}\nnetworks: {n: !reset {}}\n',
    };
    const reset = '!reset is carried out in the preceding files, because a bundle has no YAML tags';
    expect(linesOf(files, {}, ['a.yaml', 'b.yaml'])).toEqual([
      `service a: tty: ${reset}`,
      `service b: tty: ${reset}`,
      `service b: deploy.mode: ${reset}`,
      `network n: : ${reset}`,
    ]);
  });
});

describe('files that are included', () => {
  it.each<[string, string[]]>([
    ['[b.yaml, b.yaml]', ['b.yaml', 'a.yaml']],
    ['[{path: b.yaml}]', ['b.yaml', 'a.yaml']],
    ['{path: b.yaml}', ['b.yaml', 'a.yaml']],
    ['b.yaml', ['b.yaml', 'a.yaml']],
    ['[./d/../b.yaml]', ['b.yaml', 'a.yaml']],
    ['["$F"]', ['b.yaml', 'a.yaml']],
    ['my-git@b.yaml', ['my-git@b.yaml', 'a.yaml']],
    ['[]', ['a.yaml']],
  ])('come before it: include: %s', (include, compose) => {
    const files = {
      'a.yaml': `include: ${include}\n${web('')}`,
      'b.yaml': web(''),
      'my-git@b.yaml': web(''),
      '.env': 'F=b.yaml',
    };
    const bundle = importedBundle(files, {}, ['a.yaml']);
    expect(bundle.manifest.compose).toEqual(compose);
    expect(parse(bundle.composeFiles.get('a.yaml') ?? '')).toEqual(parse(web('')));
  });

  it.each(['/b.yaml', '~/b.yaml', '$NONE', 'https://h/b.yaml', 'git@h:b', 'none.yaml', 'd', '[b.yaml, none.yaml]'])(
    'are left to decide: %s',
    (path) => {
      const files = {
        'a.yaml': `include: [{path: ${path}}]\n${web('')}`,
        'b.yaml': web(''),
        'd/x': '',
        '~/b.yaml': '',
      };
      const bundle = importedBundle(files, {}, ['a.yaml']);
      expect(bundle.manifest.compose).toEqual(['a.yaml']);
      expect(bundle.report.undecided.map(({ cure }) => cure)).toContain('fetch it, and name it by -f');
      expect(parse(bundle.composeFiles.get('a.yaml') ?? '')).toHaveProperty('include');
    },
  );

  it('are left to decide beside others', () => {
    const files = { 'a.yaml': `include: [b.yaml, {path: [c.yaml, none.yaml]}]\n${web('')}`, 'b.yaml': web('') };
    const { manifest, composeFiles, report } = importedBundle(files, {}, ['a.yaml']);
    expect(manifest.compose).toEqual(['b.yaml', 'a.yaml']);
    expect(parse(composeFiles.get('a.yaml') ?? '')).toHaveProperty('include');
    expect(report.undecided.map(({ what }) => what)).toEqual(['c.yaml, none.yaml is not a file of the project']);
  });

  it('are read ten deep, and into themselves once', () => {
    const chain = Array.from({ length: 13 }, (_, n): [string, string] => [
      `${n}.yaml`,
      `include: [${n + 1}.yaml]\n${web('')}`,
    ]);
    const { manifest, report } = importedBundle(Object.fromEntries([...chain, ['13.yaml', web('')]]), {}, ['0.yaml']);
    expect(manifest.compose[0]).toBe('10.yaml');
    expect(report.undecided.map(({ what }) => what)).toEqual(['11.yaml is not a file of the project']);
    const loop = { 'a.yaml': `include: [b.yaml]\n${web('')}`, 'b.yaml': `include: [a.yaml]\n${web('')}` };
    expect(importedBundle(loop, {}, ['a.yaml']).manifest.compose).toEqual(['b.yaml', 'a.yaml']);
  });

  it('invalid ones are problems', () => {
    expect(importFiles({ 'a.yaml': `include: [b.yaml]\n${web('')}`, 'b.yaml': 'text\n' }, {}, ['a.yaml'])).toEqual({
      problems: ['a compose file must be a mapping (b.yaml:1)'],
    });
    expect(importFiles({}, {}, ['none.yaml'])).toEqual({ problems: ['none.yaml cannot be read'] });
  });
});

describe('a service of another file', () => {
  const extended = (base: string, more: ProjectFiles = {}, own = 'tty: true') => {
    const files = {
      'a.yaml': `services: {a: {extends: {file: b.yaml, service: b}, ${own}}}\n`,
      'b.yaml': base,
      ...more,
    };
    return parsed(files, ['a.yaml'])['a.yaml'];
  };

  it.each<[string, ProjectFiles, object]>([
    ['services: {b: {image: x}}', {}, { image: 'x', tty: true }],
    ['services: {b: {image: x, extends: c}, c: {user: u}}', {}, { image: 'x', tty: true, user: 'u' }],
    ['services: {b: {image: x, extends: {service: c}}, c: {user: u}}', {}, { image: 'x', tty: true, user: 'u' }],
    [
      'services: {b: {extends: {file: c.yaml, service: c}}}',
      { 'c.yaml': 'services: {c: {image: y}}' },
      { image: 'y', tty: true },
    ],
    ['x-b: &b {image: x}\nservices: {b: {<<: *b, user: u}}', {}, { image: 'x', user: 'u', tty: true }],
    ['services: {b: {image: x}}\n---\nservices: {c: {}}', {}, { image: 'x', tty: true }],
  ])('is written out: %s', (base, more, expected) => {
    expect(extended(base, more)).toEqual({ services: { a: expected } });
  });

  it.each([
    'services: {c: {image: x}}',
    'text',
    'services: {b: }',
    'services: {b: {extends: none}}',
    'services: {b: {extends: b}}',
  ])('is left to decide: %s', (base) => {
    expect(extended(base)).toMatchObject({ services: { a: { extends: { file: 'b.yaml', service: 'b' } } } });
  });

  it('of its own file stays, and several may have the same base', () => {
    const text =
      'services: {b: {image: x}, a: {extends: b}, c: {extends: {file: b.yaml, service: b}}, d: {extends: {file: b.yaml, service: b}}}\n';
    expect(parsed({ 'a.yaml': text, 'b.yaml': 'services: {b: {image: y}}\n' }, ['a.yaml'])['a.yaml']).toEqual({
      services: { b: { image: 'x' }, a: { extends: 'b' }, c: { image: 'y' }, d: { image: 'y' } },
    });
  });

  it('has the paths of its file', () => {
    const files = {
      'a.yaml': 'services: {a: {extends: {file: s/b.yaml, service: b}}}\n',
      's/b.yaml': 'services: {b: {image: x, env_file: e, extends: {file: ../t/c.yaml, service: c}}}\n',
      't/c.yaml': 'services: {c: {label_file: l}}\n',
      ...{ 's/e': 'A=1', 't/l': '' },
    };
    expect(parsed(files, ['a.yaml'])['a.yaml']).toEqual({
      services: { a: { image: 'x', env_file: './s/e', label_file: './t/l' } },
    });
  });

  it('is found ten deep', () => {
    const chain = (length: number) =>
      `services: {${Array.from({ length }, (_, n) => `b${n || ''}: {extends: b${n + 1}}`).join(', ')}, b${length}: {image: x}}`;
    expect(extended(chain(10))).toEqual({ services: { a: { image: 'x', tty: true } } });
    expect(extended(chain(11))).toMatchObject({ services: { a: { extends: {} } } });
  });
});

it('several documents of a file have separate paths', () => {
  const texts = [web(''), web(', tty: true'), web(', tty: false')].join('---\n');
  const files = { 'a.yml': texts, 'd.yaml.x/b.yaml': `${web('')}---\n${web('')}` };
  expect(importedBundle(files, {}, Object.keys(files)).manifest.compose).toEqual([
    ...['a.yml', 'a.2.yaml', 'a.3.yaml', 'd.yaml.x/b.yaml', 'd.yaml.x/b.2.yaml'],
  ]);
});

it.each([
  ['shop', 'shop-db-token'],
  ['My  Shop', 'my-shop-db-token'],
  ['--Shop', 'shop-db-token'],
  ['äö', 'secret-db-token'],
  ['a_b.c', 'a_b.c-db-token'],
])('the secrets of %s are below %s', (name, path) => {
  const files = { 'a.yaml': web(', command: $DB_TOKEN') };
  expect(importedBundle(files, { name }, ['a.yaml']).manifest.secrets).toEqual([
    { var: 'DB_TOKEN', path: `deployd/data/eu-1/see/${path}`, field: 'db_token' },
  ]);
});
