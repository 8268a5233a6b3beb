import { Ajv2020 } from 'ajv/dist/2020.js';
import { createBundle } from '../../fixtures/world/bundles/bundle.ts';
import { renderManifestSchema } from '../../fixtures/tools/docs/generated.ts';

it('is a valid JSON schema without extensions of a validator', () => {
  const validate = new Ajv2020({ strict: true }).compile(JSON.parse(renderManifestSchema()) as object);
  expect(validate(createBundle().manifest)).toBe(true);
  expect(validate({ ...createBundle().manifest, surprise: 1 })).toBe(false);
});
