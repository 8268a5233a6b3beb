import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { inspectCertificateFile } from './configFile.ts';

const [first, second] = rootCertificates;

it.each([
  [`comment\n${first!}\n${second!}\n`, 'good'],
  ['', 'not PEM'],
  ['hello', 'not PEM'],
  ['-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n', 'not PEM'],
  [`${first!}\n-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----`, 'not PEM'],
])('a file of certificates %#: %s', async (content, status) => {
  const dir = await mkdtemp(join(tmpdir(), 'certificates-'));
  try {
    await writeFile(join(dir, 'ca.pem'), content);
    expect(inspectCertificateFile(join(dir, 'ca.pem'))).toBe(status);
  } finally {
    await rm(dir, { recursive: true });
  }
});

it.each([
  ['/nowhere/ca.pem', 'missing'],
  ['/', 'unreadable (EISDIR)'],
  ['/dev/null', 'unreadable (ENOTREG)'],
])('%s is %s', (path, status) => {
  expect(inspectCertificateFile(path)).toBe(status);
});
