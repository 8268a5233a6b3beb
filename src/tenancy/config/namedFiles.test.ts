import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCa } from '../../../fixtures/servers/crypto/ca.ts';
import { tempDir } from '../../../fixtures/tempDir.ts';
import { ConfigInvalid } from '../../config/configInvalid.ts';
import {
  readBytes,
  readCredentials,
  readDatabaseUrl,
  readPublicKeys,
  readToken,
  readTrustedAuthorities,
} from './loadSettings.ts';

const file = join(tempDir(), 'named');
const write = (content: string | Buffer) => writeFileSync(file, content);

/** What the lines of the error say after the file's name; each call must throw. */
function problemsOf(read: () => unknown): string[] {
  try {
    read();
  } catch (error) {
    if (!(error instanceof ConfigInvalid)) throw error;
    return error.lines.map((line) => line.replace(`CONFIG_INVALID: ${file}: `, ''));
  }
  throw new Error('it is accepted');
}

it.each(['postgres://db/deployd', 'postgresql://me:pass@[::1]:5432/x?sslmode=require'])(
  'the database URL %s is read without the end of its line',
  (url) => {
    write(`${url}\n`);
    expect(readDatabaseUrl(file)).toBe(url);
  },
);

it.each([
  '',
  'mysql://pass@db',
  'xpostgres://pass@db',
  'postgres://',
  'postgres://a pass',
  'postgres://a\npostgres://b',
])('the database URL %j is refused, and not told', (text) => {
  write(text);
  expect(problemsOf(() => readDatabaseUrl(file))).toEqual(['must hold a postgresql:// URL in one line']);
});

it('a token is read without the end of its line', () => {
  write(' s.secret \n');
  expect(readToken(file)).toBe('s.secret');
});

it.each(['', '\n', 'two words', 'two\nlines'])('the token %j is refused, and not told', (text) => {
  write(text);
  expect(problemsOf(() => readToken(file))).toEqual(['must hold a token in one line']);
});

it('credentials are read by their names, without any other field', () => {
  write('{ "password": "pass", "username": "me", "more": 1 }\n');
  expect(readCredentials(file, 'username', 'password')).toEqual({ username: 'me', password: 'pass' });
});

it.each(['', 'pass', '["me", "pass"]', 'null', '{ "username": "me" }', '1'])(
  'the credentials %j are refused, and not told',
  (text) => {
    write(text);
    const problems = problemsOf(() => readCredentials(file, 'username', 'password'));
    expect(problems).toEqual(['must be a JSON object with username and password']);
  },
);

it.each(['""', '1', 'null'])('the password %s is refused', (password) => {
  write(`{ "username": "me", "password": ${password} }`);
  const problems = problemsOf(() => readCredentials(file, 'username', 'password'));
  expect(problems).toEqual(['must be a JSON object with username and password']);
});

it('each public key of a file is read', () => {
  const keys = ['AA\nBB=', 'CC'].map((text) => `-----BEGIN PUBLIC KEY-----\n${text}\n-----END PUBLIC KEY-----`);
  write(`first\n${keys.join('\nsecond\n')}\n`);
  expect(readPublicKeys(file)).toEqual(keys);
});

it('a file without a public key is refused', () => {
  write('-----BEGIN PRIVATE KEY-----\nAA\n-----END PRIVATE KEY-----');
  expect(problemsOf(() => readPublicKeys(file))).toEqual(['must hold public keys in PEM']);
});

it('authorities are read from a file that holds some', () => {
  const ca = createCa();
  write(ca.pem);
  expect(readTrustedAuthorities(file)).toEqual([ca.pem.trim()]);
  write('nothing');
  expect(problemsOf(() => readTrustedAuthorities(file))).toEqual([`${file} has no certificate in PEM`]);
});

it('at most 64 KiB are read, of a regular file', () => {
  write(Buffer.alloc(65_536, 7));
  expect(readBytes(file)).toEqual(Buffer.alloc(65_536, 7));
  write(Buffer.alloc(65_537));
  expect(problemsOf(() => readBytes(file))).toEqual(['cannot be read (EFBIG)']);
  expect(problemsOf(() => readBytes(join(file, '..')))).toEqual([
    expect.stringMatching(/: cannot be read \(EISDIR\)$/),
  ]);
});

it('a missing file is told as one', () => {
  expect(problemsOf(() => readBytes(`${file}-none`))).toEqual([expect.stringMatching(/named-none: does not exist$/)]);
});
