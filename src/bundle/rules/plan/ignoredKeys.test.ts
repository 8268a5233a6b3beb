import { parseComposeFile } from '../compose/document/composeFile.ts';
import { ignoredKeys } from './ignoredKeys.ts';

it.each([
  [
    'name: shop\nservices: {web: {develop: {watch: []}}, db: {image: a}}',
    ['name shop (c.yaml)', 'service web: develop (c.yaml)'],
  ],
  ['name: deployd-eu-1\nservices: {web: {image: a}}', []],
])('are told: %s', (text, told) => {
  const parsed = parseComposeFile('c.yaml', text);
  expect('file' in parsed && ignoredKeys([parsed.file], 'deployd-eu-1')).toEqual(told);
});
