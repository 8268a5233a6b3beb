import { type CallError, classifyError, type Peer } from './classifyError.rules.ts';

const call = { peer: 'tenancy', origin: 'https://t.example', operation: 'check-in' } as const;
const noErrorBody = { code: null, text: null, retryAfterS: null };
const answered = (status: number, peer: Peer = 'tenancy'): CallError => ({ ...call, peer, status, ...noErrorBody });
const failed = (error: string): CallError => ({ ...call, error });
const peer = 'tenancy service https://t.example';
const offline = (detail: string) => `temporary network failure: ${peer}: ${detail}`;
const untrusted = (detail: string) => `TLS_UNTRUSTED: ${peer}: ${detail}`;
const invalid = (detail: string) => `PROTOCOL_INVALID: ${peer}: check-in: ${detail}`;
const clientCertificateWanted = 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED';
const unsendable = (error: string) => `failed: check-in cannot be sent to the ${peer} (${error})`;

/** A few codes of each class; src/core/errors.rules.ts has them all. */
it.each<[CallError, string, string]>([
  [failed('ENOTFOUND'), 'offline', offline('name not found')],
  [failed('ECONNREFUSED'), 'offline', offline('connection refused')],
  [failed('ERR_STREAM_PREMATURE_CLOSE'), 'offline', offline('connection cut off')],
  [failed('EADDRNOTAVAIL'), 'offline', offline('connection failed (EADDRNOTAVAIL)')],
  [failed('ERR_SSL_WRONG_VERSION_NUMBER'), 'offline', offline('TLS handshake failed (ERR_SSL_WRONG_VERSION_NUMBER)')],
  [failed('TIMEOUT'), 'offline', offline('no complete answer in time')],
  [failed('STOPPED'), 'stopped', 'stopped by SIGTERM'],
  [failed('TOO_LARGE'), 'failed', invalid('the answer is too large')],
  [failed('HPE_INVALID_CONSTANT'), 'failed', invalid('the answer is not HTTP (HPE_INVALID_CONSTANT)')],
  [failed(clientCertificateWanted), 'failed', invalid(`TLS handshake failed (${clientCertificateWanted})`)],
  [failed('HOSTNAME_MISMATCH'), 'failed', untrusted('certificate is for another name (HOSTNAME_MISMATCH)')],
  [failed('CERT_HAS_EXPIRED'), 'failed', untrusted('certificate is not trusted (CERT_HAS_EXPIRED)')],
  ...['ERR_INVALID_CHAR', 'xECONNRESET', 'ECONNRESET!', 'xERR_SSL_EE_KEY_TOO_SMALL', ''].map(
    (error): [CallError, string, string] => [failed(error), 'failed', unsendable(error)],
  ),
  [
    answered(503, 'secretstore'),
    'offline',
    'temporary network failure: secretstore https://t.example: check-in answered 503',
  ],
  [
    answered(307, 'secretstore'),
    'offline',
    'temporary network failure: secretstore https://t.example: the node is a standby (307)',
  ],
  [answered(307), 'failed', `PROTOCOL_INVALID: ${peer}: check-in answered 307`],
  [answered(401), 'unauthenticated', 'AGENT_UNAUTHENTICATED: bearer refused'],
  [
    { ...call, ...noErrorBody, peer: 'storage', status: 403, text: 'expired' },
    'failed',
    'PROTOCOL_INVALID: storage host https://t.example: check-in answered 403 (expired)',
  ],
  [
    { ...call, ...noErrorBody, status: 400, code: 'C', text: 'd' },
    'failed',
    `PROTOCOL_INVALID: ${peer}: check-in answered 400 (C: d)`,
  ],
  [
    { ...call, ...noErrorBody, status: 403, code: 'AGENT_ENV_MISMATCH' },
    'envMismatch',
    'AGENT_ENV_MISMATCH: the token belongs to another environment',
  ],
  [
    { ...call, ...noErrorBody, status: 409, code: 'AGENT_ENV_MISMATCH', text: 'it is for us-2' },
    'envMismatch',
    'AGENT_ENV_MISMATCH: it is for us-2',
  ],
  [
    { ...call, ...noErrorBody, status: 409, code: 'HOST_CLONED', text: '2 hosts check in' },
    'failed',
    'HOST_CLONED: 2 hosts check in',
  ],
])('%j ends as %s', (error, ending, line) => {
  expect(classifyError(error)).toMatchObject({ ending, message: line });
});

it.each([
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'CERT_NOT_YET_VALID', 'CERT_REVOKED'],
  ...['ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_SSL_EE_KEY_TOO_SMALL', 'ERR_SSL_CA_MD_TOO_WEAK'],
])('%s is never temporary', (error) => {
  expect(classifyError(failed(error))).toMatchObject({ ending: 'failed', code: 'TLS_UNTRUSTED' });
});

it.each([408, 425, 429, 500, 501, 502, 503, 504, 505, 507, 511, 599])('status %i is temporary', (status) => {
  expect(classifyError(answered(status)).ending).toBe('offline');
  expect(classifyError(answered(status, 'secretstore')).ending).toBe('offline');
});

it.each([412, 472, 473])('status %i is temporary only from the secretstore', (status) => {
  expect(classifyError(answered(status, 'secretstore')).ending).toBe('offline');
  expect(classifyError(answered(status)).code).toBe('PROTOCOL_INVALID');
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

test('AGENT_ENV_MISMATCH is recognized only from the tenancy service with status 403 and 409', () => {
  const of = (status: number, peer: Peer = 'tenancy') =>
    classifyError({ ...call, ...noErrorBody, peer, code: 'AGENT_ENV_MISMATCH', status });
  expect([of(403).ending, of(409).ending, of(400).ending]).toEqual(['envMismatch', 'envMismatch', 'failed']);
  expect(of(403, 'secretstore').ending).toBe('failed');
  expect(of(403).code).toBe('AGENT_ENV_MISMATCH');
});

test('the fault contains the code for the report', () => {
  expect(classifyError(answered(401)).code).toBe('AGENT_UNAUTHENTICATED');
  expect(classifyError(failed('ERR_INVALID_CHAR')).code).toBe('INTERNAL');
});
