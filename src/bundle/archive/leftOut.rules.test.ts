import { generateKeyPairSync } from 'node:crypto';
import { signOf } from './leftOut.rules.ts';

const key = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
const mebibyte = (text: string) => text.repeat(Math.ceil(2 ** 20 / text.length));

it.each<[string, string, ReturnType<typeof signOf>]>([
  ['line ends', mebibyte('\n'), null],
  ['spaces', mebibyte(' '), null],
  ['headers of keys', mebibyte('-----BEGIN PRIVATE KEY-----\n'), 'private key'],
  ['some headers of keys', '-----BEGIN PRIVATE KEY-----\n'.repeat(9), null],
  ['headers without an end', mebibyte('-----BEGIN '), null],
  ['names of headers', mebibyte('authorization: '), null],
  ['beginnings of tokens', mebibyte('ghp_'), null],
  ['a short key', key, 'private key'],
  ['a key of PuTTY', 'x\nPuTTY-User-Key-File-3: ssh-ed25519\n', 'private key'],
])('quickly finds the sign of a file of %s', (_, text, sign) => {
  const before = performance.now();
  expect(signOf('a', text)).toBe(sign);
  expect(performance.now() - before).toBeLessThan(2000);
});
