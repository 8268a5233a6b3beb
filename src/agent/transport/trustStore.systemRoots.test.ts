import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Ca, createCa, unreadableCertificate } from '../../../fixtures/world/servers/crypto/ca.ts';
import { type HttpTestbed, openHttpTestbed } from '../../../fixtures/world/servers/http/httpTestbed.ts';
import { waitUntil } from '../../../fixtures/world/wait.ts';
import type { HttpCall } from './httpRequest.ts';
import { openSystemRoots } from './trustStore.ts';

const [first, second, third] = ['first', 'second', 'third'].map((name) => createCa(name)) as [Ca, Ca, Ca];
const [bundle, remembered] = [() => join(bed.dir, 'bundle.crt'), () => join(bed.dir, 'roots.pem')];

let bed: HttpTestbed;
const warnings: string[] = [];
beforeEach(async () => {
  warnings.length = 0;
  bed = await openHttpTestbed(() => ({ status: 200, body: { fine: true } }), rootsNow);
  await trustedBySystem(third, first, second);
  presentCertificateOf(first);
});
afterEach(() => bed.close());

const rootsNow = () => openSystemRoots(remembered(), { bundlePaths: [bundle()], warn: (line) => warnings.push(line) });
const trustedBySystem = (...authorities: Ca[]) =>
  writeFile(bundle(), authorities.map(({ pem }) => `# a root\n${pem}`).join('\n'));
const presentCertificateOf = (authority: Ca) => bed.server.setCertificate(authority.issue(['127.0.0.1']));

const never = new AbortController().signal;
const ofTenancy: HttpCall = {
  ...{ peer: 'tenancy', operation: 'check-in', method: 'POST', path: '/check-in', requestId: 'tick-1', signal: never },
};
const client = () => bed.client({ tenancy_ca: null, secretstore_ca: null });

/** Makes calls with a new client; returns how many connections they took. */
async function calling(...calls: HttpCall[]): Promise<number> {
  const { came } = bed.server.connections();
  const { http, close } = client();
  try {
    for (const call of calls) expect(await http.call(call)).toMatchObject({ status: 200 });
  } finally {
    close();
  }
  return bed.server.connections().came - came;
}

const untrusted = { code: 'TLS_UNTRUSTED' };

test('the root that vouched is remembered, and only that root is used from then on', async () => {
  expect(await calling(ofTenancy)).toBe(1);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem);
  expect((await stat(remembered())).mode & 0o777).toBe(0o600);
  expect(`${rootsNow().remembered()?.pem}\n`).toBe(first.pem);
  expect(await calling(ofTenancy)).toBe(1);
});

test('another root of the system is accepted with one more connection, and remembered too', async () => {
  await calling(ofTenancy);
  presentCertificateOf(second);
  expect(await calling(ofTenancy, ofTenancy)).toBe(2);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem + second.pem);
  expect(await calling(ofTenancy)).toBe(1);
  presentCertificateOf(first);
  expect(await calling(ofTenancy)).toBe(1);
  expect(bed.server.requests).toHaveLength(5);
});

test('a remembered root is not trusted once the system has removed it', async () => {
  await calling(ofTenancy);
  await trustedBySystem(second, third);
  await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
  expect(bed.server.requests).toHaveLength(1);
  presentCertificateOf(second);
  expect(await calling(ofTenancy)).toBe(1);
  expect(await readFile(remembered(), 'latin1')).toBe(second.pem);
});

test('a running loop also stops trusting a root that the system has removed', async () => {
  const { http, close } = client();
  expect(await http.call(ofTenancy)).toMatchObject({ status: 200 });
  close();
  expect(await http.call(ofTenancy)).toMatchObject({ status: 200 });
  close();
  await trustedBySystem(second, third);
  await expect(http.call(ofTenancy)).rejects.toMatchObject(untrusted);
});

test('an intermediate authority of the system, which the server does not send, is remembered with its root', async () => {
  const between = first.subordinate('between');
  await trustedBySystem(third, first, between, second);
  presentCertificateOf(between);
  expect(await calling(ofTenancy)).toBe(1);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem + between.pem);
  expect(await calling(ofTenancy)).toBe(1);
});

test('a root that the server sends cross-signed is remembered as the system has it', async () => {
  await calling(ofTenancy);
  await trustedBySystem(third, first, second);
  const { key, cert } = second.issue(['127.0.0.1']);
  bed.server.setCertificate({ key, cert: cert + createCa('of old').crossSign(second) });
  expect(await calling(ofTenancy)).toBe(2);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem + second.pem);
  expect(await calling(ofTenancy)).toBe(1);
});

test('an intermediate authority that the server sends is not remembered', async () => {
  const between = first.subordinate('between');
  const { key, cert } = between.issue(['127.0.0.1']);
  bed.server.setCertificate({ key, cert: cert + between.pem });
  expect(await calling(ofTenancy)).toBe(1);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem);
  expect(await calling(ofTenancy)).toBe(1);
});

test('certificates in the file are trusted only if the system trusts them', async () => {
  const unrelatedCa = createCa('stranger');
  await writeFile(remembered(), unrelatedCa.pem + first.pem);
  presentCertificateOf(unrelatedCa);
  await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
  await writeFile(remembered(), unrelatedCa.pem);
  await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
  expect(bed.server.requests).toEqual([]);
  expect(await readFile(remembered(), 'latin1')).toBe(unrelatedCa.pem);
});

test('a root that was disabled in the bundle of the system is not trusted, although it was remembered', async () => {
  await calling(ofTenancy);
  await writeFile(bundle(), second.pem + first.pem.replace('-----BEGIN', '# -----BEGIN'));
  await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
});

test('a system without roots trusts nothing', async () => {
  await calling(ofTenancy);
  await writeFile(bundle(), '');
  await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
});

test.each([
  ['is expired', () => second.issue(['127.0.0.1'], { expired: true })],
  ['is for another name', () => second.issue(['localhost'])],
])(
  'a certificate that %s is rejected by all roots as by the remembered one, and no root is remembered',
  async (_what, certificate) => {
    await calling(ofTenancy);
    bed.server.setCertificate(certificate());
    await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
    expect(await readFile(remembered(), 'latin1')).toBe(first.pem);
  },
);

test.each([
  ['before it', () => unreadableCertificate + first.pem],
  ['after it', () => first.pem + unreadableCertificate],
])(
  'an unreadable certificate of the system, %s, neither hides the root that vouched nor ends the process; there is one warning',
  async (_where, text) => {
    await writeFile(bundle(), text());
    expect(await calling(ofTenancy)).toBe(1);
    expect(await readFile(remembered(), 'latin1')).toBe(first.pem);
    expect(warnings).toEqual([
      `1 of the 2 certificates in ${bundle()} cannot be read and are ignored: create the file again (update-ca-certificates, update-ca-trust)`,
    ]);
  },
);

test('concurrent calls all succeed when the remembered root does not vouch', async () => {
  await calling(ofTenancy);
  presentCertificateOf(second);
  const { http, close } = client();
  const ofSecretstore: HttpCall = { ...ofTenancy, peer: 'secretstore', path: '/v1/other' };
  const calls = [ofTenancy, ofTenancy, ofSecretstore, ofTenancy, ofSecretstore].map((call) => http.call(call));
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  close();
  await waitUntil('all connections are closed', async () => bed.server.connections().open === 0);
});

test('a loop that needed all roots once keeps using them when the remembered roots cannot be written', async () => {
  await calling(ofTenancy);
  presentCertificateOf(second);
  const { http, close } = client();
  for (const connections of [2, 1, 1]) {
    const { came } = bed.server.connections();
    expect(await http.call(ofTenancy)).toMatchObject({ status: 200 });
    expect(bed.server.connections().came - came).toBe(connections);
    close();
    await writeFile(remembered(), first.pem);
  }
});

test('a call is not sent again when its connection breaks', async () => {
  await calling(ofTenancy);
  bed.server.answerNext('/check-in', { cut: 'head' });
  await expect(client().http.call({ ...ofTenancy, tries: 1 })).rejects.toMatchObject({ ending: 'offline' });
  expect(bed.server.requests).toHaveLength(2);
});

test('a CA file of the operator is tried once', async () => {
  presentCertificateOf(second);
  await expect(bed.client().http.call(ofTenancy)).rejects.toMatchObject(untrusted);
  expect(bed.server.connections().came).toBe(1);
});

test('a download also falls back to all roots', async () => {
  await calling(ofTenancy);
  presentCertificateOf(second);
  const { http, close } = client();
  const { status, discard } = await http.stream({ ...ofTenancy, method: 'GET', path: '/bundle' }, never);
  discard();
  close();
  expect(status).toBe(200);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem + second.pem);
});

test('a file that cannot be read or written has no effect', async () => {
  await mkdir(remembered());
  expect(await calling(ofTenancy)).toBe(1);
  expect(await calling(ofTenancy)).toBe(1);
});

test('the newest eight are kept', async () => {
  const roots = Array.from({ length: 9 }, (_, index) => createCa(`root ${index}`));
  await trustedBySystem(...roots.toReversed());
  for (const root of roots) {
    presentCertificateOf(root);
    await calling(ofTenancy);
  }
  expect(await readFile(remembered(), 'latin1')).toBe(
    roots
      .slice(1)
      .map(({ pem }) => pem)
      .join(''),
  );
});
