import { newSigningKey } from '../../fixtures/signatures/signBundle.ts';
import { keyName, plainPem, readPublicKey, type PublicKey } from './publicKey.ts';

const { publicPem, privateKey, hint } = newSigningKey();

it('reads a key, whatever text stands around it', () => {
  expect((readPublicKey(`# of the release team\n${publicPem}\n`) as PublicKey).hint).toBe(hint);
});

it('writes a key alone, without a private key that stands beside it', () => {
  expect(plainPem(`${publicPem}${privateKey.export({ type: 'pkcs8', format: 'pem' })}`)).toBe(publicPem);
  expect(plainPem(publicPem.trim())).toBe(publicPem);
});

it.each([
  ['ab=', 'key SHA256:ab'],
  ['a==', 'key SHA256:a'],
  ['a=b=', 'key SHA256:a=b'],
])('names the key %s as ssh-keygen does', (text, name) => {
  expect(keyName(text)).toBe(name);
});
