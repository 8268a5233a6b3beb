import { X509Certificate } from 'node:crypto';
import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { SecureContext } from 'node:tls';
import { tempDir } from '../../fixtures/world/tempDir.ts';
import { createCa, unreadableCertificate } from '../../fixtures/world/servers/crypto/ca.ts';
import { readIdentity } from './identity.ts';

const ca = createCa();
const { key, cert } = ca.issue(['deployd-host']);
const other = ca.issue(['somebody else']);
const good = {
  ztAPI: 'https://ctrl.example:1280/edge/client/v1',
  id: { key: `pem:${key}`, cert: `pem:${cert}`, ca: `pem:${ca.pem}` },
};

let dir: string;
let path: string;
beforeEach(async () => {
  dir = tempDir();
  path = join(dir, 'deployd-host.eu-1.json');
});

const write = (value: unknown) => writeFile(path, typeof value === 'string' ? value : JSON.stringify(value));

/** The certificate of a TLS context, which accepts none without its key. */
const certificateOf = ({ context }: SecureContext): string =>
  new X509Certificate((context as { getCertificate: () => Buffer }).getCertificate()).toString();

describe('an identity', () => {
  it.each([
    ['after pem:', (text: string) => `pem:${text}`],
    ['as plain PEM', (text: string) => text],
  ])('is read with PEM %s', async (_name, form) => {
    await write({ ...good, id: { key: form(key), cert: form(cert), ca: form(ca.pem) } });
    const { controllers, secureContext } = await readIdentity(path);
    expect(controllers.map(String)).toEqual(['https://ctrl.example:1280/edge/client/v1']);
    expect(certificateOf(secureContext)).toBe(cert);
  });

  it.each([
    (file: string) => `file://${file}`,
    (file: string) => `file:${file}`,
    (file: string) => file,
    () => 'key.pem',
  ])('is read with its key in a file: %s', async (form) => {
    await writeFile(join(dir, 'key.pem'), key);
    await write({ ...good, id: { ...good.id, key: form(join(dir, 'key.pem')) } });
    expect(certificateOf((await readIdentity(path)).secureContext)).toBe(cert);
  });

  it('lists each controller once, first the controllers of a cluster, with the default path if none is given', async () => {
    await write({ ...good, ztAPIs: ['https://a.example:1280', good.ztAPI, 'http://plain.example', 7] });
    const { controllers } = await readIdentity(path);
    expect(controllers.map(String)).toEqual(['https://a.example:1280/edge/client/v1', good.ztAPI]);
  });

  it('is read with an expired certificate, because the controller decides about it', async () => {
    const expired = ca.issue(['deployd-host'], { expired: true });
    await write({ ...good, id: { ...good.id, key: expired.key, cert: expired.cert } });
    const { certificate, secureContext } = await readIdentity(path);
    expect(certificateOf(secureContext)).toBe(expired.cert);
    expect(certificate.validToDate.getTime()).toBeLessThan(Date.now());
  });

  it('is read without a CA: the controllers have a certificate of a public authority', async () => {
    await write({ ...good, id: { key, cert } });
    expect(certificateOf((await readIdentity(path)).secureContext)).toBe(cert);
  });

  it('is read again while a tunneller rewrites it', async () => {
    await write(JSON.stringify(good).slice(0, 100));
    const reading = readIdentity(path);
    await writeFile(`${path}.new`, JSON.stringify(good));
    await rename(`${path}.new`, path);
    expect(certificateOf((await reading).secureContext)).toBe(cert);
  });
});

describe('an unusable identity', () => {
  const id = good.id;
  it.each<[string, unknown, string]>([
    ['empty', '', 'is empty: its enrolment is not done, or it failed'],
    ['un-enrolled', 'eyJhbGciOi.eyJpc3MiOi.c2ln\n', 'is an enrolment token, not an identity: enrol it first'],
    ['not JSON', '{"ztAPI":', 'is malformed: it is not JSON'],
    ['without controller', { id }, 'is malformed: neither ztAPI nor ztAPIs is the https address of a controller'],
    [
      'with a controller on plain http',
      { ...good, ztAPI: 'http://ctrl' },
      'is malformed: neither ztAPI nor ztAPIs is the https address of a controller',
    ],
    [
      'without key',
      { ...good, id: { ca: id.ca } },
      'contains no key and certificate (id.key, id.cert): it cannot log in unattended',
    ],
    ['with an empty CA', { ...good, id: { ...id, ca: 'pem:' } }, 'is malformed: id.ca is not a certificate'],
    [
      'with an unreadable CA',
      { ...good, id: { ...id, ca: unreadableCertificate } },
      'is malformed: id.ca is not a certificate',
    ],
    [
      'with a broken chain',
      { ...good, id: { ...id, cert: id.cert + unreadableCertificate } },
      'is malformed: TLS does not take id.cert and its chain',
    ],
    [
      'with a key in hardware',
      { ...good, id: { ...id, key: 'pkcs11:token=x' } },
      'keeps id.key in a pkcs11 store, which is not supported: it must be PEM or a file',
    ],
    [
      'with the key of another certificate',
      { ...good, id: { ...id, key: other.key } },
      'is malformed: id.key and id.cert do not belong together',
    ],
    [
      'with an invalid certificate',
      { ...good, id: { ...id, cert: 'pem:x' } },
      'is malformed: id.cert is not a certificate',
    ],
    ['with an invalid key', { ...good, id: { ...id, key: 'pem:x' } }, 'is malformed: id.key is not a private key'],
  ])('is reported before any dial: %s', async (_name, file, problem) => {
    await write(file);
    const message = await readIdentity(path).then(String, (error: unknown) => (error as Error).message);
    expect(message.startsWith(`identity ${path} `)).toBe(true);
    expect(message.slice(`identity ${path} `.length)).toEqual(problem);
  });

  it('is named when it is missing, and when it refers to a missing file', async () => {
    await expect(readIdentity(path)).rejects.toThrow(`identity ${path} is not there`);
    await write({ ...good, id: { ...id, key: '/nowhere/key.pem' } });
    await expect(readIdentity(path)).rejects.toThrow('names /nowhere/key.pem for id.key, which is not there');
  });
});
