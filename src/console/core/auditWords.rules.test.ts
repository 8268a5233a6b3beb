import { resultTone } from './forms.rules.ts';

it.each([
  ['ok', 'good'],
  ['started', 'later'],
  ['FORBIDDEN', 'bad'],
] as const)('an act with the result %s is %s', (result, tone) => expect(resultTone(result)).toBe(tone));
