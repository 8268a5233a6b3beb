import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { makeBundle } from '../../fixtures/bundles.ts';
import { schemaFile, schemaText } from '../../fixtures/docs.ts';

it(`${schemaFile} is current: run npm run docs`, () => {
  expect(readFileSync(schemaFile, 'utf8')).toBe(schemaText());
});

it('is a schema that any validator understands', () => {
  const validate = new Ajv2020({ strict: true }).compile(JSON.parse(schemaText()) as object);
  expect(validate(makeBundle().manifest)).toBe(true);
  expect(validate({ ...makeBundle().manifest, surprise: 1 })).toBe(false);
});
