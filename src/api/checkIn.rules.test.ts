import { parseCheckInResponse } from './checkIn.rules.ts';

const sha = '0123456789abcdef'.repeat(4);
const none = { action: 'none', env: 'eu-1', backend_id: 'b-1', production: false, desired_sha: null };
const apply = { ...none, action: 'apply', desired_sha: sha, bundle: { sha256: sha, size_bytes: 42 } };

test('parses a response and ignores unknown fields', () => {
  expect(
    parseCheckInResponse({
      ...apply,
      purge_volumes: true,
      colour: 'blue',
      bundle: { ...apply.bundle, emergency: true, etag: 1 },
    }),
  ).toEqual({
    action: 'apply',
    env: 'eu-1',
    backendId: 'b-1',
    production: false,
    desiredSha: sha,
    sizeBytes: 42,
    emergency: true,
    purgeVolumes: true,
  });
});

test('needs no bundle when there is nothing to do', () => {
  expect(parseCheckInResponse(none)).toMatchObject({
    action: 'none',
    desiredSha: null,
    sizeBytes: 0,
    purgeVolumes: false,
  });
  const down = { ...none, action: 'down', desired_sha: sha, bundle: null, purge_volumes: null };
  expect(parseCheckInResponse(down)).toMatchObject({ action: 'down', purgeVolumes: false });
  const empty = { ...apply, bundle: { sha256: sha, size_bytes: 0 } };
  expect(parseCheckInResponse(empty)).toMatchObject({ action: 'apply', sizeBytes: 0, emergency: false });
});

it.each<[string, unknown, string]>([
  ['no JSON', undefined, 'the answer is not a JSON object'],
  ['a list', [], 'the answer is not a JSON object'],
  ['null', null, 'the answer is not a JSON object'],
  ['no action', { ...none, action: undefined }, 'field action is missing'],
  ['an unknown action', { ...none, action: 'explode' }, 'field action must be apply, none or down'],
  ['an action in capitals', { ...none, action: 'APPLY' }, 'field action must be'],
  ['no env', { ...none, env: undefined }, 'field env is missing'],
  ['a number as env', { ...none, env: 1 }, 'field env is empty or not a string'],
  ['an empty backend', { ...none, backend_id: '' }, 'field backend_id is empty or not a string'],
  ['production as text', { ...none, production: 'false' }, 'field production is not a boolean'],
  ['no desired sha', { ...none, desired_sha: undefined }, 'field desired_sha is missing'],
  ['apply of nothing', { ...apply, desired_sha: null }, 'field desired_sha is empty or not a string'],
  ['a number as sha', { ...none, desired_sha: 1 }, 'field desired_sha is neither a string nor null'],
  ['a sha after more', { ...none, desired_sha: `x${sha}` }, 'field desired_sha is not a lower-case sha256'],
  ['a short sha', { ...none, desired_sha: 'abc' }, 'field desired_sha is not a lower-case sha256'],
  ['a sha in capitals', { ...none, desired_sha: sha.toUpperCase() }, 'field desired_sha is not a lower-case sha256'],
  ['a sha and more', { ...none, desired_sha: `${sha}\n` }, 'field desired_sha is not a lower-case sha256'],
  ['a path as sha', { ...none, desired_sha: '../../etc' }, 'field desired_sha is not a lower-case sha256'],
  ['apply without a bundle', { ...apply, bundle: undefined }, 'field bundle is missing'],
  ['a list as bundle', { ...apply, bundle: [] }, 'field bundle is not an object'],
  ['another bundle', { ...apply, bundle: { sha256: '0'.repeat(64), size_bytes: 1 } }, 'field bundle.sha256 differs'],
  ['a negative size', { ...apply, bundle: { sha256: sha, size_bytes: -1 } }, 'field bundle.size_bytes is not a whole'],
  ['a broken size', { ...apply, bundle: { sha256: sha, size_bytes: 1.5 } }, 'field bundle.size_bytes is not a whole'],
  ['a size as text', { ...apply, bundle: { sha256: sha, size_bytes: '1' } }, 'field bundle.size_bytes is not a whole'],
  ['a purge as text', { ...none, purge_volumes: 'true' }, 'field purge_volumes is not a boolean'],
])('%s is PROTOCOL_INVALID with the name of the field', (_title, json, words) => {
  expect(() => parseCheckInResponse(json)).toThrow(`PROTOCOL_INVALID: check-in: ${words}`);
});
