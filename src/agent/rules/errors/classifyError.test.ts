import { retryAfterOf, retryPauseMs, sortTrouble, type Peer, type Trouble } from './classifyError.ts';

const call = { peer: 'tenancy', origin: 'https://t.example', what: 'check-in' } as const;
const silent = { code: null, text: null, retryAfterS: null };
const answered = (status: number, peer: Peer = 'tenancy'): Trouble => ({ ...call, peer, status, ...silent });
const failed = (error: string): Trouble => ({ ...call, error });
const place = 'tenancy service https://t.example';

it.each<[Trouble, string, string]>([
  [failed('ENOTFOUND'), 'offline', `temporary network failure: ${place}: name not found`],
  [failed('EAI_AGAIN'), 'offline', `temporary network failure: ${place}: name lookup failed`],
  [failed('ECONNREFUSED'), 'offline', `temporary network failure: ${place}: connection refused`],
  [failed('ECONNRESET'), 'offline', `temporary network failure: ${place}: connection reset`],
  [failed('EPIPE'), 'offline', `temporary network failure: ${place}: connection cut off`],
  [failed('EHOSTUNREACH'), 'offline', `temporary network failure: ${place}: host unreachable`],
  [failed('ENETUNREACH'), 'offline', `temporary network failure: ${place}: network unreachable`],
  [failed('ETIMEDOUT'), 'offline', `temporary network failure: ${place}: connection timed out`],
  [failed('EADDRNOTAVAIL'), 'offline', `temporary network failure: ${place}: connection failed (EADDRNOTAVAIL)`],
  [failed('EPROTO'), 'offline', `temporary network failure: ${place}: TLS handshake failed (EPROTO)`],
  [failed('ERR_STREAM_PREMATURE_CLOSE'), 'offline', `temporary network failure: ${place}: connection cut off`],
  [failed('ERR_HTTP_CONTENT_LENGTH_MISMATCH'), 'offline', `temporary network failure: ${place}: connection cut off`],
  [failed('TIMEOUT'), 'offline', `temporary network failure: ${place}: no complete answer in time`],
  [failed('STALLED'), 'offline', `temporary network failure: ${place}: no more bytes came`],
  [failed('STOPPED'), 'stopped', 'stopped by SIGTERM'],
  [failed('TOO_LARGE'), 'failed', `PROTOCOL_INVALID: ${place}: check-in: the answer is too large`],
  [
    failed('HPE_INVALID_CONSTANT'),
    'failed',
    `PROTOCOL_INVALID: ${place}: check-in: the answer is not HTTP (HPE_INVALID_CONSTANT)`,
  ],
  [
    failed('ERR_TLS_CERT_ALTNAME_INVALID'),
    'failed',
    `TLS_UNTRUSTED: ${place}: certificate is for another name (ERR_TLS_CERT_ALTNAME_INVALID)`,
  ],
  [failed('ERR_INVALID_CHAR'), 'failed', `failed: check-in cannot be sent to the ${place} (ERR_INVALID_CHAR)`],
])('%j ends as %s', (trouble, ending, line) => {
  expect(sortTrouble(trouble)).toMatchObject({ ending, message: line });
});

it.each([
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'CERT_SIGNATURE_FAILURE',
  'INVALID_PURPOSE',
  'HOSTNAME_MISMATCH',
  'ERR_SSL_EE_KEY_TOO_SMALL',
  'UNSPECIFIED',
])('%s is never temporary and never tried again', (error) => {
  expect(sortTrouble(failed(error))).toMatchObject({ ending: 'failed', code: 'TLS_UNTRUSTED' });
  expect(retryPauseMs(failed(error), 1, 0)).toBeNull();
});

it.each([408, 425, 429, 500, 501, 502, 503, 504, 505, 507, 511, 599])('status %i is temporary', (status) => {
  expect(sortTrouble(answered(status)).ending).toBe('offline');
  expect(sortTrouble(answered(status, 'secretstore')).ending).toBe('offline');
});

it.each([300, 301, 302, 304, 400, 402, 403, 404, 405, 409, 410, 413, 418, 422, 451, 600])(
  'status %i is a fault of the protocol',
  (status) => {
    expect(sortTrouble(answered(status))).toMatchObject({ ending: 'failed', code: 'PROTOCOL_INVALID' });
    expect(sortTrouble(answered(status, 'secretstore'))).toMatchObject({ ending: 'failed', code: 'PROTOCOL_INVALID' });
  },
);

test('what a server asks for goes along with the fault', () => {
  expect(sortTrouble({ ...answered(503), ...silent, retryAfterS: 120, status: 503 }).retryAfterS).toBe(120);
  expect(sortTrouble(answered(503)).retryAfterS).toBeNull();
  expect(sortTrouble(failed('ECONNRESET')).retryAfterS).toBeNull();
});

test('401 is a refused bearer only when the tenancy service says it', () => {
  expect(sortTrouble(answered(401)).ending).toBe('unauthenticated');
  expect(sortTrouble(answered(401, 'secretstore')).code).toBe('PROTOCOL_INVALID');
});

test('the code of another env counts only with 403 and 409', () => {
  const of = (status: number) => sortTrouble({ ...answered(status), ...silent, code: 'AGENT_ENV_MISMATCH', status });
  expect([of(403).ending, of(409).ending, of(400).ending]).toEqual(['envMismatch', 'envMismatch', 'failed']);
});

describe('a pause before another try', () => {
  test('grows and has jitter', () => {
    expect(retryPauseMs(failed('ECONNRESET'), 1, 0)).toBe(125);
    expect(retryPauseMs(failed('ECONNRESET'), 1, 0.5)).toBe(250);
    expect(retryPauseMs(failed('ECONNRESET'), 2, 0.5)).toBe(500);
  });

  test('comes twice', () => {
    expect(retryPauseMs(failed('ECONNRESET'), 3, 0)).toBeNull();
  });

  test('is at least what the server asks for, up to ten seconds', () => {
    expect(retryPauseMs({ ...call, status: 503, ...silent, retryAfterS: 10 }, 1, 0)).toBeGreaterThanOrEqual(10_000);
    expect(retryPauseMs({ ...call, status: 503, ...silent, retryAfterS: 11 }, 1, 0)).toBeNull();
  });

  test('is spread over as long again as the server asks for', () => {
    const asked = { ...call, status: 503, ...silent, retryAfterS: 4 };
    expect(retryPauseMs(asked, 1, 0.5)).toBe(4000 + 2000 + 250);
  });

  test('is not made for what no try cures', () => {
    expect(retryPauseMs(answered(401), 1, 0)).toBeNull();
    expect(retryPauseMs(failed('STOPPED'), 1, 0)).toBeNull();
  });
});

it.each<[string | undefined, number | null]>([
  [undefined, null],
  ['0', 0],
  ['7', 7],
  ['Sat, 21 Nov 2026 12:00:05 GMT', 5],
  ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
  ['soon', null],
])('Retry-After %j is %j seconds', (header, seconds) => {
  expect(retryAfterOf({ 'retry-after': header }, Date.UTC(2026, 10, 21, 12))).toBe(seconds);
});

it("counts a Retry-After by the server's own clock", () => {
  const headers = { 'retry-after': 'Sat, 21 Nov 2026 12:00:05 GMT', date: 'Sat, 21 Nov 2026 12:00:00 GMT' };
  expect(retryAfterOf(headers, 0)).toBe(5);
});
