import { execFileSync } from 'node:child_process';
import { createPublicKey, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { tempDir } from '../../../../fixtures/tempDir.ts';
import { readCertificate } from './certificate.ts';

const dir = tempDir();
const issuer = '1.3.6.1.4.1.57264.1.8=ASN1:UTF8String:https://id.example';
const [email, uri] = ['subjectAltName=email:release@example.com', 'subjectAltName=URI:https://ci.example/a/b@main'];

/** A certificate with these extensions, by openssl. */
function certificateWith(...extensions: string[]): { pem: string; key: Buffer } {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', join(dir, 'key')];
  const more = extensions.flatMap((each) => ['-addext', each]);
  const pem = String(execFileSync('openssl', ['req', '-x509', '-subj', '/CN=a', ...key, ...more], { stdio: 'pipe' }));
  return { pem, key: createPublicKey(pem).export({ type: 'spki', format: 'der' }) };
}

it.each([
  ['an e-mail address', email, 'release@example.com'],
  ['a URI', uri, 'https://ci.example/a/b@main'],
])('reads whom it is for: %s', (_what, name, subject) => {
  const { pem, key } = certificateWith(name, issuer);
  const rawBytes = new X509Certificate(pem).raw.toString('base64');
  expect(readCertificate(pem, key)).toEqual({ rawBytes, identity: { subject, issuer: 'https://id.example' } });
});

it.each([
  ['nobody', [issuer]],
  ['somebody whom no provider knew', [email]],
  ['somebody whom a provider without a name knew', [email, '1.3.6.1.4.1.57264.1.8=ASN1:UTF8String:']],
  ['somebody whom a provider knew whose name is no text', [email, '1.3.6.1.4.1.57264.1.8=DER:ff']],
])('takes none for %s', (_what, extensions) => {
  const { pem, key } = certificateWith(...extensions);
  expect(() => readCertificate(pem, key)).toThrow('is no certificate for an identity');
});
