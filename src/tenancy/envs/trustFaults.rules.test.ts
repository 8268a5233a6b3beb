import { generateKeyPairSync } from 'node:crypto';
import { newSigningKey } from '../../../fixtures/signatures/signBundle.ts';
import { trustFaults } from './trustFaults.rules.ts';

const [one, two] = [newSigningKey().publicPem, newSigningKey().publicPem];
const short = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ type: 'spki', format: 'pem' });
const [ann, bob] = ['ann', 'bob'].map((subject) => ({ issuer: 'https://id.example', subject }));
const trust = { threshold: 1, keys: [one], identities: [], root: null };

it.each([
  ['a key', trust, []],
  ['two of two keys', { ...trust, threshold: 2, keys: [one, two] }, []],
  ['a key and an identity', { threshold: 2, keys: [one], identities: [ann!], root: '{}' }, []],
  ['two identities', { ...trust, threshold: 3, identities: [ann!, bob!], root: '{}' }, []],
  [
    'a third of two',
    { threshold: 3, keys: [one], identities: [ann!], root: '{}' },
    ['threshold 3 cannot be met: there are 2 who can sign'],
  ],
  ['nobody', { ...trust, keys: [] }, ['threshold 1 cannot be met: there are 0 who can sign']],
  ['no key', { ...trust, keys: [one, 'x'], threshold: 2 }, ['keys.1 is not a public key in PEM (BEGIN PUBLIC KEY)']],
  ['a weak key', { ...trust, keys: [short] }, ['keys.0 is an RSA key of less than 2048 bits']],
  [
    'one key for two',
    { ...trust, threshold: 2, keys: [one, `\n${one}`] },
    ['a key or an identity stands there twice', 'threshold 2 cannot be met: there are 1 who can sign'],
  ],
  [
    'one key for two beside no key',
    { ...trust, keys: [one, 'x', one] },
    ['keys.1 is not a public key in PEM (BEGIN PUBLIC KEY)', 'a key or an identity stands there twice'],
  ],
  [
    'one identity for two',
    { ...trust, identities: [ann!, bob!, ann!], root: '{}' },
    ['a key or an identity stands there twice'],
  ],
  [
    'identities without a root',
    { ...trust, identities: [ann!] },
    ['identities need a root, by which they are verified'],
  ],
])('%s: what is wrong with a trust', (_, judged, faults) => {
  expect(trustFaults(judged)).toEqual(faults);
});
