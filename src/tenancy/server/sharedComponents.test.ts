import { shareComponents } from '../http/validators.ts';

const env = { title: 'Env', type: 'object' };
const missing = { description: 'ENV_NOT_FOUND, BUNDLE_NOT_FOUND', content: {} };
const document = (answers: object) => ({
  components: { schemas: {} },
  paths: { '/': { get: { responses: answers } } },
});
const answersOf = (shared: Record<string, unknown>) => shared['paths'] as Record<string, never>;

it('moves titled schemas and errors that are described by codes', () => {
  const shared = shareComponents(document({ 200: { schema: env }, 201: { schema: env }, 404: missing }));
  const schema = { $ref: '#/components/schemas/Env' };
  const $ref = '#/components/responses/ENV_NOT_FOUND-or-BUNDLE_NOT_FOUND';
  expect(answersOf(shared)).toEqual(document({ 200: { schema }, 201: { schema }, 404: { $ref } }).paths);
  expect(shared['components']).toEqual({
    schemas: { Env: { type: 'object' } },
    responses: { 'ENV_NOT_FOUND-or-BUNDLE_NOT_FOUND': missing },
  });
});

it('leaves a success and a described error in place', () => {
  const answers = { 200: { description: 'OK' }, 422: { description: 'Code of the first refusal' } };
  expect(answersOf(shareComponents(document(answers)))).toEqual(document(answers).paths);
});

it('rejects two different schemas with one title', () => {
  const other = { ...env, required: ['name'] };
  expect(() => shareComponents(document({ 200: { schema: env }, 201: { schema: other } }))).toThrow(/ the name Env$/);
});
