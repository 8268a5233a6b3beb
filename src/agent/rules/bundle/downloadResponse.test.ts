import {
  expectedBytes,
  resumeActionFor,
  validateAnnouncedSize,
  validateReceivedSize,
  validateRedirect,
} from './downloadResponse.ts';

const head = { peerLabel: 'storage host https://s.example', contentLength: undefined, contentRange: undefined };

it.each<[number, number, string | undefined, string]>([
  [200, 0, undefined, 'restart'],
  [200, 5, undefined, 'restart'],
  [206, 5, 'bytes 5-9/10', 'append'],
  [206, 5, 'bytes 50-59/60', 'restartRequest'],
  [206, 5, 'x bytes 5-9/10', 'restartRequest'],
  [206, 5, undefined, 'restartRequest'],
  [416, 5, undefined, 'restartRequest'],
])('a response %i to a request from byte %i, with the range %s, leads to %s', (status, offset, ...[range, action]) => {
  expect(resumeActionFor({ ...head, status, contentRange: range }, offset)).toBe(action);
});

it.each([
  [206, 0, 'bytes 0-9/10'],
  [416, 0, undefined],
  [204, 5, 'bytes 5-9/10'],
  [404, 5, undefined],
])('a response %i to a request from byte %i, with the range %s, is refused', (status, offset, contentRange) => {
  expect(() => resumeActionFor({ ...head, status, contentRange }, offset)).toThrow(
    new Error(`PROTOCOL_INVALID: storage host https://s.example: bundle answered ${status}`),
  );
});

const tooLarge =
  'refused: BUNDLE_UNSAFE: 11 bytes, limits.bundle_bytes allows 10: leave out what no service uses, or raise limits.bundle_bytes of the host';

it('an announced size may be the limit', () => {
  expect(validateAnnouncedSize({ sizeBytes: 10, limitBytes: 10 })).toBeNull();
  expect(validateAnnouncedSize({ sizeBytes: 11, limitBytes: 10 })).toMatchObject({
    ending: 'refused',
    lines: [tooLarge],
  });
});

it.each([
  [5, null],
  [6, 'refused: BUNDLE_DIGEST: more bytes than the 5 announced'],
  [10, 'refused: BUNDLE_DIGEST: more bytes than the 5 announced'],
  [11, tooLarge],
])('a body of %i bytes, 5 announced and 10 allowed: %s', (endBytes, message) => {
  expect(validateReceivedSize(endBytes, { sizeBytes: 5, limitBytes: 10 })?.message ?? null).toBe(message);
});

it.each([
  ['0', 7],
  ['12', 19],
  ['9'.repeat(15), 999_999_999_999_999 + 7],
  ['9'.repeat(16), 7],
  ['1x', 7],
  ['x1', 7],
  [undefined, 7],
])('with 7 bytes on disk and a Content-Length of %s, %i are expected', (contentLength, bytes) => {
  expect(expectedBytes({ ...head, status: 206, contentLength }, 7)).toBe(bytes);
});

describe('a redirect', () => {
  const from = new URL('https://t.example/bundle');

  it.each([
    ['https://s.example/b?sig=1', 'https://s.example/b?sig=1'],
    ['/elsewhere', 'https://t.example/elsewhere'],
    ['http://127.0.0.1:8080/b', 'http://127.0.0.1:8080/b'],
    ['http://127.255.255.254/b', 'http://127.255.255.254/b'],
    ['http://localhost/b', 'http://localhost/b'],
    ['http://[::1]/b', 'http://[::1]/b'],
  ])('to %s is followed', (location, target) => {
    expect(validateRedirect(location, from).href).toBe(target);
  });

  it.each([
    undefined,
    'https://',
    'http://s.example/b',
    'http://localhost.example/b',
    'http://my-localhost/b',
    'http://127.0.0.1.example/b',
    'ftp://localhost/b',
    'file:///etc/passwd',
    'https://user@s.example/b',
    'https://:password@s.example/b',
  ])('to %s is refused', (location) => {
    expect(() => validateRedirect(location, from)).toThrow(
      new Error('PROTOCOL_INVALID: bundle: redirected by https://t.example to where the agent does not go'),
    );
  });
});
