import { memoryTree } from '../../../../fixtures/import/memoryTree.ts';
import { findProject } from './findProject.ts';

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
