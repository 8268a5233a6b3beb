import { plainText, serverWords } from './errorBody.ts';

it.each<[unknown, string | null, string | null]>([
  [{ error: { code: 'NO_SUCH', message: 'not here' } }, 'NO_SUCH', 'not here'],
  [{ error: { code: 'no such', message: 7 } }, null, null],
  [{ error: 'not here' }, null, null],
  [{ errors: ['one', 2, 'two'] }, null, 'one; two'],
  [{ errors: [] }, null, null],
  [undefined, null, null],
  ['text', null, null],
  [{}, null, null],
])('%j says %j and %j', (json, code, text) => {
  expect(serverWords(json)).toEqual({ code, text });
});

test('a text becomes one line without control characters', () => {
  expect(plainText('2 errors occurred:\n\t* permission denied\u001b[0m\u0000\u200b\n\n')).toBe(
    '2 errors occurred: * permission denied [0m',
  );
});

test('a long text is cut between words, so that no secret is cut in two', () => {
  const secret = `s.${'x'.repeat(30)}`;
  const text = plainText(`${'word '.repeat(57)}${secret} more`) ?? '';
  expect(text.length).toBeLessThanOrEqual(302);
  expect(text).toMatch(/word …$/);
  expect(plainText('x'.repeat(1000))).toBe('…');
});
