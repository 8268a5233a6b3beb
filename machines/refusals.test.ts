import { formatRefusal, refusalWith } from './refusals.ts';

it('joins its faults, and as one text each with the cure that it has', () => {
  const refusal = refusalWith('COMPOSE_REFUSED', [
    { text: 'web: build', cure: 'name it by image' },
    { text: 'and 2 more', cure: '' },
  ]);
  expect(refusal).toMatchObject({ code: 'COMPOSE_REFUSED', detail: 'web: build; and 2 more' });
  expect(formatRefusal(refusal)).toBe('web: build: name it by image; and 2 more');
  expect(formatRefusal({ code: 'ENV_INCOMPLETE', detail: 'unresolved: A' })).toBe('unresolved: A');
});
