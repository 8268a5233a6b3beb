import { formatRefusal, refusalWith } from './refusals.ts';

it('joins its faults into one line, and returns each fault as a text with its cure', () => {
  const refusal = refusalWith('COMPOSE_REFUSED', [
    { text: 'web: build', cure: 'name it by image' },
    { text: 'and 2 more', cure: '' },
  ]);
  expect(refusal).toMatchObject({ code: 'COMPOSE_REFUSED', detail: 'web: build; and 2 more' });
  expect(formatRefusal(refusal)).toBe('web: build: name it by image; and 2 more');
  expect(formatRefusal({ code: 'ENV_INCOMPLETE', detail: 'unresolved: A' })).toBe('unresolved: A');
});
