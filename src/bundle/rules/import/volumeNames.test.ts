import { parseProjectFile } from './projectDocument.ts';
import { volumeNameFor } from './volumeNames.ts';

function namesOf(paths: string[], text = 'services: {}\n'): string[] {
  const read = parseProjectFile('compose.yaml', text);
  const work = { volumes: new Map<string, string>(), documents: 'problems' in read ? [] : read.documents };
  return paths.map((path) => volumeNameFor(path, work));
}

it.each([
  ['data', 'data'],
  ['data/db', 'data-db'],
  ['../data', 'data'],
  ['.', 'data'],
  ['..', 'data'],
  ['a', 'a-data'],
  ['my  data/x', 'my-data-x'],
  ['.hidden', 'hidden'],
  ['--x', 'x-data'],
  ['A_b.c-9', 'A_b.c-9'],
  ['ä', 'data'],
])('the directory %s becomes the volume %s', (path, name) => {
  expect(namesOf([path])).toEqual([name]);
});

it('the same directory has the same volume, and no other has its name', () => {
  expect(namesOf(['data', 'data', '../data', 'data/', 'x/../data'])).toEqual([
    ...['data', 'data', 'data-2', 'data-3', 'x-data'],
  ]);
  expect(namesOf(['db'], 'volumes: {db: , db-2: }\nservices: {}\n')).toEqual(['db-3']);
});
