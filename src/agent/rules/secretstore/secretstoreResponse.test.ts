import {
  describeClockSkew,
  describeMissingSecret,
  isDeniedByPolicy,
  isRenewalRefusal,
  isUpgrading,
  parseLogin,
  parseLookup,
  parseRenewal,
  parseSecret,
} from './secretstoreResponse.ts';

const auth = { client_token: 's.token', lease_duration: 3600, renewable: true };
const data = {
  ttl: 60,
  creation_ttl: 3600,
  renewable: true,
  expire_time: '2026-11-21T12:01:00Z',
  meta: { env: 'eu-1' },
};
const secret = { data: { password: 'x' }, metadata: { version: 3, created_time: '2026-11-21T12:00:00Z' } };

describe('the response of the secretstore', () => {
  it.each<[string, (json: unknown) => unknown, unknown, unknown]>([
    ['a login', parseLogin, { auth }, { token: 's.token', ttlS: 3600, renewable: true }],
    [
      'a login with a second factor',
      parseLogin,
      { auth: { ...auth, mfa_requirement: {} } },
      { refused: 'a second factor (MFA) is demanded, which an agent cannot give' },
    ],
    ['a renewal', parseRenewal, { auth }, { ttlS: 3600, renewable: true }],
    [
      'a lookup',
      parseLookup,
      { data },
      { dead: false, ttlS: 60, creationTtlS: 3600, renewable: true, expireTime: data.expire_time, env: 'eu-1' },
    ],
    [
      'a lookup without metadata',
      parseLookup,
      { data: { ...data, meta: null } },
      expect.objectContaining({ env: null }),
    ],
    ['a lookup without an env', parseLookup, { data: { ...data, meta: {} } }, expect.objectContaining({ env: null })],
    [
      'a lookup of a token that never expires',
      parseLookup,
      { data: { ...data, expire_time: null } },
      expect.objectContaining({ expireTime: null }),
    ],
    ['a secret', parseSecret, { data: secret }, { data: secret.data, version: 3, createdTime: '2026-11-21T12:00:00Z' }],
  ])('is understood: %s', (_, parse, json, parsed) => {
    expect(parse(json)).toEqual(parsed);
  });

  it.each<[string, (json: unknown) => unknown, unknown]>([
    ['login: the answer is not a JSON object', parseLogin, null],
    ['login: field auth.client_token is empty or not a string', parseLogin, { auth: { ...auth, client_token: '' } }],
    ['token renewal: field auth is missing', parseRenewal, {}],
    ['token lookup: field data.creation_ttl is missing', parseLookup, { data: { ...data, creation_ttl: undefined } }],
    ['secret: field data.metadata is missing', parseSecret, { data: {} }],
  ])('is refused: %s', (problem, parse, json) => {
    expect(() => parse(json)).toThrow(new Error(`PROTOCOL_INVALID: ${problem}`));
  });
});

describe('a missing secret', () => {
  const metadata = { deletion_time: '', destroyed: false };
  it.each([
    [403, { errors: ['1 error occurred'] }, 'permission denied'],
    [404, undefined, 'not found'],
    [404, { errors: [] }, 'not found'],
    [404, { data: { metadata: { ...metadata, destroyed: true } } }, 'the version is destroyed'],
    [404, { data: { metadata: { ...metadata, deletion_time: '2026-11-21T12:00:00Z' } } }, 'the version is deleted'],
    [404, { data: { metadata }, warnings: ['no such path'] }, 'no such path'],
    [404, { data: { metadata: {} }, errors: ['first', 'second'] }, 'first; second'],
    [404, { data: {}, warnings: ['no such path'], errors: ['other'] }, 'no such path'],
  ])('is explained, status %i with %j: %s', (status, json, reason) => {
    expect(describeMissingSecret(status, json)).toBe(reason);
  });
});

describe('an error of the secretstore', () => {
  const denied = { errors: ['1 error occurred:\n\t* permission denied\n\n'] };
  const upgrading = { errors: ['Upgrading from non-versioned to versioned data. This backend will be unavailable.'] };

  it.each([
    ['of a valid token', 403, denied, true],
    ['of an invalid token', 403, { errors: ['2 errors occurred:\n\t* permission denied\n\t* invalid token'] }, false],
    ['with another status', 400, denied, false],
  ])('tells that a policy denies a call %s', (_, status, json, expected) => {
    expect(isDeniedByPolicy(status, json)).toBe(expected);
  });

  it.each([
    ['during it', 400, upgrading, true],
    ['with another status', 404, upgrading, false],
    ['with another message', 400, { errors: ['Not Upgrading from non-versioned'] }, false],
    ['without a message', 400, {}, false],
  ])('tells that a mount is being upgraded %s', (_, status, json, expected) => {
    expect(isUpgrading(status, json)).toBe(expected);
  });

  it.each([
    [400, {}, true],
    [499, {}, true],
    [500, {}, false],
    [500, { errors: ['failed to renew entry: role x does not exist during renewal'] }, true],
    [500, { errors: ['past the max TTL, cannot renew'] }, true],
    [500, { errors: ['internal error'] }, false],
  ])('tells that a token is not renewed: status %i with %j is %j', (status, json, expected) => {
    expect(isRenewalRefusal(status, json)).toBe(expected);
  });

  const now = Date.UTC(2026, 10, 21, 12);
  const ahead = (seconds: number) => new Date(now + seconds * 1000).toUTCString();
  it.each([
    [ahead(61), 'token is expired', "this host's clock is 61 s behind the secretstore's (token is expired)"],
    [ahead(-61), 'Not Yet Valid', "this host's clock is 61 s ahead of the secretstore's (Not Yet Valid)"],
    [ahead(61), 'claim (nbf)', "this host's clock is 61 s behind the secretstore's (claim (nbf))"],
    [ahead(60), 'token is expired', null],
    [ahead(-60), 'token is expired', null],
    [ahead(61), 'permission denied', null],
    [ahead(61), null, null],
    [undefined, 'token is expired', null],
  ])('is explained by a clock skew: Date %j with %j is %j', (date, text, explanation) => {
    expect(describeClockSkew(date, text, now)).toBe(explanation);
  });
});
