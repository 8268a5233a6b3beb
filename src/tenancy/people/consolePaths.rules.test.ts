import * as paths from './consolePaths.rules.ts';
import { consolePath, returnPath } from './consolePaths.rules.ts';

it('the paths that proxies and providers are configured with stay what they are', () => {
  expect(paths).toMatchObject({
    consolePath: '/console/',
    signInPath: '/console/sign-in',
    callbackPath: '/console/callback',
    signOutPath: '/console/sign-out',
    signedOutPath: '/console/signed-out',
    scriptPath: '/console/console.js',
    stylePath: '/console/console.css',
  });
});

describe('the page after a sign-in', () => {
  it.each(['/console/envs/eu-1', '/console/backends?q=a%20b&sort=-seen', '/console/', `/console/${'a'.repeat(503)}`])(
    'is the one that was wished: %s',
    (wish) => expect(returnPath(wish)).toBe(wish),
  );

  it.each([
    undefined,
    '',
    '/',
    '//evil.example/console/',
    'https://evil.example/console/',
    '/consoles/',
    '/console/\\evil.example',
    '/console/a b',
    '/console/\r\nset-cookie: a=b',
    ' /console/',
    `/console/${'a'.repeat(504)}`,
  ])('is the first one for %j', (wish) => expect(returnPath(wish)).toBe(consolePath));
});
