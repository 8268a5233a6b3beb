import { parse } from 'yaml';
import { importedBundle } from '../../../../fixtures/import/importing.ts';
import type { ImportChoices } from './importReport.ts';

const servicesOf = (text: string, choices: Partial<ImportChoices>) => {
  const { composeFiles } = importedBundle({ 'compose.yaml': `${text}\n` }, choices);
  return (parse([...composeFiles.values()][0] ?? '', { merge: true }) as { services: object }).services;
};

it('an image is chosen for a service alone', () => {
  const images = new Map([
    ['a', 'r/$x:1'],
    ['none', 'y'],
  ]);
  expect(servicesOf('x-b: &b {image: x}\nservices: {a: *b, b: *b}', { images })).toEqual({
    ...{ a: { image: 'r/$$x:1' }, b: { image: 'x' } },
  });
});

it('builds stay where a service has no image', () => {
  const text =
    'x-b: &b {build: .}\nservices: {a: {<<: *b, image: x}, b: *b, c: {build: ., image: y, develop: {watch: []}}}';
  expect(servicesOf(text, {})).toEqual({ a: { build: '.', image: 'x' }, b: { build: '.' }, c: { image: 'y' } });
});
