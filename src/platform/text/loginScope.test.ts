import { parseImageReference } from './imageReference.ts';
import { loginFor } from './loginScope.ts';

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
