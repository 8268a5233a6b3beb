import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCa } from '../../fixtures/servers/crypto/ca.ts';
import { readAuthorities } from './authorityFile.ts';
import { createTlsContext } from './certificateAuthorities.ts';

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'deployd-authorities-'))));
afterEach(() => rm(dir, { recursive: true }));

it('reads those of a file', async () => {
  const { pem } = createCa();
  await writeFile(join(dir, 'ca.pem'), `comment\n${pem}`);
  expect(readAuthorities(join(dir, 'ca.pem')).map((each) => each.trim())).toEqual([pem.trim()]);
});

it('has some without a file, of which TLS can be made', () => {
  expect(readAuthorities(null).length).toBeGreaterThan(0);
  createTlsContext(readAuthorities(null));
});

it.each<[string, string | null, string]>([
  ['that is missing', null, 'cannot be read (ENOENT)'],
  ['without a certificate', 'none', 'has no certificate in PEM'],
  ['that is too large', ' '.repeat(4_194_305), 'cannot be read (EFBIG)'],
])('names a file %s', async (_what, content, why) => {
  const file = join(dir, 'ca.pem');
  if (content !== null) await writeFile(file, content);
  expect(() => readAuthorities(file)).toThrow(`${file} ${why}`);
});
