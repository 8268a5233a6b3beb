import { parse } from 'yaml';
import { importedBundle, type ProjectFiles } from '../../../fixtures/world/import/importing.ts';
import { memoryTree } from '../../../fixtures/world/import/memoryTree.ts';
import { findProject } from './readProject.rules.ts';

describe('several files', () => {
  const textsOf = (files: ProjectFiles, names?: string[]) => {
    const { composeFiles, report, manifest } = importedBundle(files, {}, names);
    const parsed = [...composeFiles].map(([path, text]) => [path, parse(text) as unknown]);
    return { files: Object.fromEntries(parsed) as object, compose: manifest.compose, undecided: report.undecided };
  };

  it('stay several, those that are included too, with their paths', () => {
    const files = {
      'compose.yaml': 'include: [sub/b.yaml, {path: [c.yaml], project_directory: sub}]\nservices: {a: {image: x}}\n',
      'sub/b.yaml': 'services: {b: {image: x, volumes: [./b.conf:/b], env_file: b.env}}\n',
      'c.yaml': 'services: {c: {image: x, volumes: [b.conf:/v, ./b.conf:/b]}}\n',
      ...{ 'sub/b.conf': '', 'sub/b.env': 'A=1\n' },
    };
    expect(textsOf(files)).toEqual({
      compose: ['sub/b.yaml', 'c.yaml', 'compose.yaml'],
      files: {
        'sub/b.yaml': { services: { b: { image: 'x', volumes: ['./sub/b.conf:/b:ro'], env_file: './sub/b.env' } } },
        'c.yaml': { services: { c: { image: 'x', volumes: ['b.conf:/v', './sub/b.conf:/b:ro'] } } },
        'compose.yaml': { services: { a: { image: 'x' } } },
      },
      undecided: [],
    });
  });

  it('are left to decide where they are not of the project', () => {
    const { undecided, files } = textsOf({
      'compose.yaml': 'include: [oci://x/y, z.yaml]\nservices: {a: {image: x}}\n',
    });
    expect(undecided.map(({ what }) => what)).toEqual([
      'oci://x/y is not a file of the project',
      'z.yaml is not a file of the project',
    ]);
    expect(files).toMatchObject({ 'compose.yaml': { include: ['oci://x/y', 'z.yaml'] } });
  });

  it('give their services to those that extend them', () => {
    const base = [
      'services:',
      '  base: {image: y, command: [b], environment: [A=1, B=2], volumes: [./b.conf:/b, v:/v], extends: {service: root}}',
      '  root: {restart: always, labels: {l: r}, depends_on: [z]}',
    ];
    const own =
      '{extends: {file: sub/base.yaml, service: base}, image: x, environment: {B: 3}, volumes: [w:/v], labels: [m=1]}';
    const { files } = textsOf({
      'compose.yaml': `services: {a: ${own}}\n`,
      'sub/base.yaml': base.join('\n'),
      'sub/b.conf': '',
    });
    const a = {
      ...{ restart: 'always', labels: { l: 'r', m: '1' }, depends_on: ['z'], image: 'x', command: ['b'] },
      ...{ environment: { A: '1', B: 3 }, volumes: ['./sub/b.conf:/b:ro', 'w:/v'] },
    };
    expect(files).toEqual({ 'compose.yaml': { services: { a } } });
  });

  it('are reset and overridden without tags', () => {
    const files = {
      'a.yaml': 'services: {a: {image: x, ports: ["1:1"], env_file: a.env, environment: {A: 1, B: 2}}}\n',
      'b.yaml': 'services: {a: {ports: !override ["2:2"], env_file: !reset [], environment: {A: !reset null}}}\n',
    };
    expect(textsOf(files, ['a.yaml', 'b.yaml']).files).toEqual({
      'a.yaml': { services: { a: { image: 'x', environment: { B: 2 } } } },
      'b.yaml': { services: { a: { ports: ['2:2'], environment: {} } } },
    });
  });

  it('are made of several documents in one', () => {
    const { compose, files } = textsOf({
      'compose.yaml': 'services: {a: {image: x}}\n---\nservices: {a: {restart: always}}\n',
    });
    expect({ compose, files }).toEqual({
      compose: ['compose.yaml', 'compose.2.yaml'],
      files: {
        'compose.yaml': { services: { a: { image: 'x' } } },
        'compose.2.yaml': { services: { a: { restart: 'always' } } },
      },
    });
  });
});

const found = (files: Record<string, string>, chosen: string[] = []) => findProject(memoryTree(files), chosen, '.env');

it.each<[string, Record<string, string>, string[]]>([
  ['the first of compose’s names', { 'docker-compose.yml': '', 'compose.yml': '', 'other.yaml': '' }, ['compose.yml']],
  [
    'its override too',
    { 'docker-compose.yml': '', 'docker-compose.override.yml': '' },
    ['docker-compose.yml', 'docker-compose.override.yml'],
  ],
  [
    'what COMPOSE_FILE names',
    { 'compose.yaml': '', '.env': 'COMPOSE_FILE=a.yaml:./b/c.yaml\n' },
    ['a.yaml', 'b/c.yaml'],
  ],
  ['nothing', { 'x.yaml': '' }, []],
])('takes %s', (_, files, expected) => {
  expect(found(files).files).toEqual(expected);
});

it('takes the files that were chosen, and reads name and profiles', () => {
  const files = { 'a.yaml': 'name: shop\n', 'compose.yaml': 'name: other\n', '.env': 'COMPOSE_PROFILES=p,q\n' };
  expect(found(files, ['./a.yaml'])).toEqual({ files: ['a.yaml'], name: 'shop', profiles: ['p', 'q'] });
  expect(found({ ...files, '.env': 'COMPOSE_PROJECT_NAME=own\n' }).name).toBe('own');
  expect(found({ 'compose.yaml': 'name: $X\n' }).name).toBeNull();
});

const filesOf = (files: Record<string, string | null>, chosen: string[] = []) =>
  findProject(memoryTree(files), chosen, '.env').files;
const names = ['compose.yaml', 'compose.yml', 'docker-compose.yml', 'docker-compose.yaml'];

it.each(names)('%s is a compose file, with its override', (name) => {
  const override = name.replace('.', '.override.');
  expect(filesOf({ [name]: '' })).toStrictEqual([name]);
  expect(filesOf({ [name]: '', [override]: '' })).toEqual([name, override]);
  expect(filesOf({ [override]: '' })).toEqual([]);
  expect(filesOf({ [name]: null, 'x/compose.yaml': '' })).toEqual([]);
});

it('the first name is taken', () => {
  expect(names.map((_, index) => filesOf(Object.fromEntries(names.slice(index).map((name) => [name, '']))))).toEqual(
    names.map((name) => [name]),
  );
});

it.each([
  ['COMPOSE_FILE=a.yaml:b.yaml', ['a.yaml', 'b.yaml']],
  ['COMPOSE_FILE=a.yaml;b.yaml\nCOMPOSE_PATH_SEPARATOR=;', ['a.yaml', 'b.yaml']],
  ['COMPOSE_FILE=a.yaml:b.yaml\nCOMPOSE_PATH_SEPARATOR=', ['a.yaml', 'b.yaml']],
  ['COMPOSE_FILE=" a.yaml : :b.yaml"', ['a.yaml', 'b.yaml']],
  ['COMPOSE_FILE=', ['compose.yaml']],
])('%j names %j', (env, expected) => {
  expect(filesOf({ 'compose.yaml': '', '.env': env })).toEqual(expected);
});

it("the last literal name is the project's name", () => {
  const nameOf = (...texts: string[]) => {
    const files = Object.fromEntries(texts.map((text, index) => [`${index}.yaml`, text]));
    return findProject(memoryTree(files), Object.keys(files), '.env').name;
  };
  expect(nameOf('name: a\n', 'name: b\n')).toBe('b');
  expect(nameOf('name: a\n', 'services: {}\n')).toBe('a');
  expect(nameOf('name: a\n', 'name: b-$X\n')).toBe('a');
  expect(nameOf('name: a\n', 'text: [\n')).toBe('a');
  expect(nameOf('services: {}\n')).toBeNull();
  expect(
    findProject(memoryTree({ '.env': 'COMPOSE_PROJECT_NAME=\n', 'compose.yaml': 'name: a\n' }), [], '.env'),
  ).toEqual({
    ...{ files: ['compose.yaml'], name: 'a', profiles: [] },
  });
});
