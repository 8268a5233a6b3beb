import { isLoopback, parseErrorBody, parseRetryAfter, toSingleLine } from './http.rules.ts';

it.each<[unknown, string | null, string | null]>([
  [{ error: { code: 'NO_SUCH', message: 'not here' } }, 'NO_SUCH', 'not here'],
  [{ error: { code: 'no such', message: 7 } }, null, null],
  ...['xNO_SUCH', 'NO_SUCH\n', ['NO_SUCH']].map((code): [unknown, null, null] => [{ error: { code } }, null, null]),
  [{ error: 'not here' }, null, null],
  [{ errors: ['one', 2, 'two'] }, null, 'one; two'],
  [{ errors: [] }, null, null],
  [undefined, null, null],
  ['text', null, null],
  [{}, null, null],
])('%j has the code %j and the message %j', (json, code, text) => {
  expect(parseErrorBody(json)).toEqual({ code, text });
});

test('makes a message one line without control characters', () => {
  expect(toSingleLine('2 errors occurred:\n\t* permission denied\u001b[0m\u0000\u200b\n\n')).toBe(
    '2 errors occurred: * permission denied [0m',
  );
});

test('truncates a long message between words, so that no secret is split', () => {
  const secret = `s.${'x'.repeat(30)}`;
  const text = toSingleLine(`${'word '.repeat(57)}${secret} more`) ?? '';
  expect(text.length).toBeLessThanOrEqual(302);
  expect(text).toMatch(/word …$/);
  expect(toSingleLine('x'.repeat(1000))).toBe('…');
  const [half, rest] = ['x'.repeat(150), 'y'.repeat(149)];
  expect(toSingleLine(`${half} ${rest}`)).toBe(`${half} ${rest}`);
  expect(toSingleLine(`${half} ${rest}y`)).toBe(`${half} …`);
});

it.each<[string | undefined, number | null]>([
  [undefined, null],
  ['0', 0],
  ['7', 7],
  [' 120 ', 120],
  ['-7', 0],
  ['7 seconds', null],
  ['Sat, 21 Nov 2026 12:00:05 GMT', 5],
  ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
  ['soon', null],
])('Retry-After %j is %j seconds', (header, seconds) => {
  expect(parseRetryAfter({ 'retry-after': header }, Date.UTC(2026, 10, 21, 12))).toBe(seconds);
});

it("converts a Retry-After date by the server's clock", () => {
  const headers = { 'retry-after': 'Sat, 21 Nov 2026 12:00:05 GMT', date: 'Sat, 21 Nov 2026 12:00:00 GMT' };
  expect(parseRetryAfter(headers, 0)).toBe(5);
});

it.each(['localhost', '[::1]', '127.0.0.1', '127.255.10.7'])('%s never leaves the host', (hostname) => {
  expect(isLoopback(hostname)).toBe(true);
});

it.each([
  ...['localhost.example', 'my-localhost', '[::2]', '127.0.0.1.example', '1127.0.0.1', '127.a.b.c', '127.1'],
  ...['10.0.0.1', ''],
])('%j may leave the host', (hostname) => {
  expect(isLoopback(hostname)).toBe(false);
});
