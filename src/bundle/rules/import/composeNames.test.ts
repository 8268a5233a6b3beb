import { memoryTree } from '../../../../fixtures/import/memoryTree.ts';
import { findProject } from './findProject.ts';

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

it('the last name that is literal is that of the project', () => {
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
