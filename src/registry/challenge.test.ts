import { parseChallenge } from './challenge.ts';

const bearer = (url: string) => ({ scheme: 'bearer', tokenUrl: new URL(url) });

it.each([
  ['Basic', { scheme: 'basic' }],
  ['basic realm="r"', { scheme: 'basic' }],
  ['Bearer realm="https://auth.example/token"', bearer('https://auth.example/token')],
  [
    'BEARER  realm="https://auth.example/token?a=1",service="r.example",scope="repository:a/b:pull"',
    bearer('https://auth.example/token?a=1&service=r.example&scope=repository%3Aa%2Fb%3Apull'),
  ],
  ['Bearer realm="http://127.0.0.1:5000/token",service=""', bearer('http://127.0.0.1:5000/token?service=')],
])('reads %s', (header, challenge) => {
  expect(parseChallenge(header)).toEqual(challenge);
});

it.each([
  undefined,
  '',
  'Negotiate',
  'Basically',
  ' Basic',
  'Bearer',
  'Bearer service="r"',
  'Bearer realm="token"',
  'Bearer realm="http://auth.example/token"',
  'Bearer realm="ftp://127.0.0.1/token"',
])('knows no way to answer %s', (header) => {
  expect(parseChallenge(header)).toBeNull();
});
