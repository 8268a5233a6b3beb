import {
  isImageId,
  loginFor,
  normalizeImageReference,
  parseImageReference,
  registryOf,
} from './imageReference.rules.ts';

const digest = `sha256:${'a'.repeat(64)}`;

it.each([
  ['app', 'docker.io/library/app:latest'],
  ['app:1', 'docker.io/library/app:1'],
  ['library/app:1', 'docker.io/library/app:1'],
  ['docker.io/app:1', 'docker.io/library/app:1'],
  ['docker.io/library/app:1', 'docker.io/library/app:1'],
  ['index.docker.io/library/app', 'docker.io/library/app:latest'],
  ['user/app', 'docker.io/user/app:latest'],
  ['docker.io/user/app:2', 'docker.io/user/app:2'],
  ['team/user/app', 'docker.io/team/user/app:latest'],
  ['localhost/app', 'localhost/app:latest'],
  ['Registry/app', 'Registry/app:latest'],
  ['registry.example/app', 'registry.example/app:latest'],
  ['host:5000/app', 'host:5000/app:latest'],
  ['host:5000/team/app:1', 'host:5000/team/app:1'],
  ['[::1]:5000/app', '[::1]:5000/app:latest'],
  [`app@${digest}`, `docker.io/library/app@${digest}`],
  [`app:1@${digest}`, `docker.io/library/app@${digest}`],
  [`host:5000/app:1@${digest}`, `host:5000/app@${digest}`],
])('%s is %s', (reference, full) => {
  expect(normalizeImageReference(reference)).toBe(full);
  expect(normalizeImageReference(full)).toBe(full);
});

it.each([
  [digest, true],
  [`${digest}a`, false],
  [`x${digest}`, false],
  ['app:1', false],
])('%s is the id of an image: %j', (image, expected) => {
  expect(isImageId(image)).toBe(expected);
});

it.each([
  ['app', 'docker.io'],
  ['index.docker.io/app', 'docker.io'],
  ['host:5000/team/app:1', 'host:5000'],
  [`registry.example/app@${digest}`, 'registry.example'],
])('the registry of %s is %s', (reference, host) => {
  expect(registryOf(reference)).toBe(host);
});

const logins = ['r.example/team', 'r.example', 'r.example/team/deep', 'r.example:5000/team', 'docker.io/acme'];

it.each([
  ['r.example/team/app:1', 'r.example/team'],
  ['r.example/team', 'r.example/team'],
  ['r.example/team/deep/app', 'r.example/team/deep'],
  ['r.example/team2/app', 'r.example'],
  ['r.example/app', 'r.example'],
  ['r.example:5000/team/app', 'r.example:5000/team'],
  ['r.example:5000/other/app', null],
  ['acme/app', 'docker.io/acme'],
  ['index.docker.io/acme/app', 'docker.io/acme'],
  ['app', null],
])('%s is pulled with the login for %s', (image, host) => {
  const found = loginFor(
    logins.map((each) => ({ host: each })),
    parseImageReference(image),
  );
  expect(found?.host ?? null).toBe(host);
});
