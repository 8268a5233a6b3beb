import { classifyError, type Peer, type CallError } from './classifyError.ts';

const call = { peer: 'tenancy', origin: 'https://t.example', what: 'check-in' } as const;
const noErrorBody = { code: null, text: null, retryAfterS: null };
const answered = (status: number, peer: Peer = 'tenancy'): CallError => ({ ...call, peer, status, ...noErrorBody });
const failed = (error: string): CallError => ({ ...call, error });
const peer = 'tenancy service https://t.example';

it.each<[CallError, string, string]>([
  [failed('ENOTFOUND'), 'offline', `temporary network failure: ${peer}: name not found`],
  [failed('EAI_AGAIN'), 'offline', `temporary network failure: ${peer}: name lookup failed`],
  [failed('ECONNREFUSED'), 'offline', `temporary network failure: ${peer}: connection refused`],
  [failed('ECONNRESET'), 'offline', `temporary network failure: ${peer}: connection reset`],
  [failed('EPIPE'), 'offline', `temporary network failure: ${peer}: connection cut off`],
  [failed('EHOSTUNREACH'), 'offline', `temporary network failure: ${peer}: host unreachable`],
  [failed('ENETUNREACH'), 'offline', `temporary network failure: ${peer}: network unreachable`],
  [failed('ETIMEDOUT'), 'offline', `temporary network failure: ${peer}: connection timed out`],
  [failed('EADDRNOTAVAIL'), 'offline', `temporary network failure: ${peer}: connection failed (EADDRNOTAVAIL)`],
  [failed('EPROTO'), 'offline', `temporary network failure: ${peer}: TLS handshake failed (EPROTO)`],
  [failed('ERR_STREAM_PREMATURE_CLOSE'), 'offline', `temporary network failure: ${peer}: connection cut off`],
  [failed('ERR_HTTP_CONTENT_LENGTH_MISMATCH'), 'offline', `temporary network failure: ${peer}: connection cut off`],
  [failed('TIMEOUT'), 'offline', `temporary network failure: ${peer}: no complete answer in time`],
  [failed('STALLED'), 'offline', `temporary network failure: ${peer}: no more bytes came`],
  [failed('STOPPED'), 'stopped', 'stopped by SIGTERM'],
  [failed('TOO_LARGE'), 'failed', `PROTOCOL_INVALID: ${peer}: check-in: the answer is too large`],
  [
    failed('HPE_INVALID_CONSTANT'),
    'failed',
    `PROTOCOL_INVALID: ${peer}: check-in: the answer is not HTTP (HPE_INVALID_CONSTANT)`,
  ],
  [
    failed('ERR_TLS_CERT_ALTNAME_INVALID'),
    'failed',
    `TLS_UNTRUSTED: ${peer}: certificate is for another name (ERR_TLS_CERT_ALTNAME_INVALID)`,
  ],
  [failed('ERR_INVALID_CHAR'), 'failed', `failed: check-in cannot be sent to the ${peer} (ERR_INVALID_CHAR)`],
])('%j ends as %s', (error, ending, line) => {
  expect(classifyError(error)).toMatchObject({ ending, message: line });
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
])('%s is never temporary', (error) => {
  expect(classifyError(failed(error))).toMatchObject({ ending: 'failed', code: 'TLS_UNTRUSTED' });
});

it.each([408, 425, 429, 500, 501, 502, 503, 504, 505, 507, 511, 599])('status %i is temporary', (status) => {
  expect(classifyError(answered(status)).ending).toBe('offline');
  expect(classifyError(answered(status, 'secretstore')).ending).toBe('offline');
});

it.each([300, 301, 302, 304, 400, 402, 403, 404, 405, 409, 410, 413, 418, 422, 451, 600])(
  'status %i is PROTOCOL_INVALID',
  (status) => {
    expect(classifyError(answered(status))).toMatchObject({ ending: 'failed', code: 'PROTOCOL_INVALID' });
    expect(classifyError(answered(status, 'secretstore'))).toMatchObject({
      ending: 'failed',
      code: 'PROTOCOL_INVALID',
    });
  },
);

test('the fault contains the Retry-After', () => {
  expect(classifyError({ ...answered(503), ...noErrorBody, retryAfterS: 120, status: 503 }).retryAfterS).toBe(120);
  expect(classifyError(answered(503)).retryAfterS).toBeNull();
  expect(classifyError(failed('ECONNRESET')).retryAfterS).toBeNull();
});

test('401 means a refused bearer only from the tenancy service', () => {
  expect(classifyError(answered(401)).ending).toBe('unauthenticated');
  expect(classifyError(answered(401, 'secretstore')).code).toBe('PROTOCOL_INVALID');
});

test('AGENT_ENV_MISMATCH is recognized only with status 403 and 409', () => {
  const of = (status: number) =>
    classifyError({ ...answered(status), ...noErrorBody, code: 'AGENT_ENV_MISMATCH', status });
  expect([of(403).ending, of(409).ending, of(400).ending]).toEqual(['envMismatch', 'envMismatch', 'failed']);
});
