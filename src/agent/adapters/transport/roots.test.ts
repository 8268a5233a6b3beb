import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createCa, unreadableCertificate, type Ca } from '../../../../fixtures/servers/ca.ts';
import { openTestbed, type Testbed } from '../../../../fixtures/testbed.ts';
import { until } from '../../../../fixtures/wait.ts';
import type { Call } from '../http/call.ts';
import { createHttp, type Http } from '../http/http.ts';
import { systemRoots } from './roots.ts';
import { createTransport } from './transport.ts';

interface Client {
  http: Http;
  close: () => void;
}

const [first, second, third] = ['first', 'second', 'third'].map((name) => createCa(name)) as [Ca, Ca, Ca];
const [bundle, remembered] = [() => join(bed.dir, 'bundle.crt'), () => join(bed.dir, 'roots.pem')];

let bed: Testbed<Client>;
const told: string[] = [];
beforeEach(async () => {
  told.length = 0;
  const connect = (settings: Parameters<typeof createTransport>[0]) => {
    const transport = createTransport(settings, rootsNow());
    return { http: createHttp({ settings, transport, version: '0.2.0' }), close: transport.close };
  };
  bed = await openTestbed(connect, () => ({ status: 200, body: { fine: true } }));
  await trustedBySystem(third, first, second);
  show(first);
});
afterEach(() => bed.close());

const rootsNow = () => systemRoots(remembered(), { bundles: [bundle()], tell: (line) => told.push(line) });
const trustedBySystem = (...authorities: Ca[]) =>
  writeFile(bundle(), authorities.map(({ pem }) => `# a root\n${pem}`).join('\n'));
const show = (authority: Ca) => bed.server.present(authority.issue(['127.0.0.1']));

const never = new AbortController().signal;
const ofTenancy: Call = {
  ...{ peer: 'tenancy', what: 'check-in', method: 'POST', path: '/check-in', requestId: 'tick-1', signal: never },
};
const client = () => bed.client({ tenancy_ca: null, secretstore_ca: null });

/** Calls of a process of its own, and how many connections they took. */
async function calling(...calls: Call[]): Promise<number> {
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

test('the root that vouched is remembered, and is the only one that is asked for from then on', async () => {
  expect(await calling(ofTenancy)).toBe(1);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem);
  expect((await stat(remembered())).mode & 0o777).toBe(0o600);
  expect(`${rootsNow().proven()?.pem}\n`).toBe(first.pem);
  expect(await calling(ofTenancy)).toBe(1);
});

test('another root of the system is good at once, costs one more connection, and is remembered too', async () => {
  await calling(ofTenancy);
  show(second);
  expect(await calling(ofTenancy, ofTenancy)).toBe(2);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem + second.pem);
  expect(await calling(ofTenancy)).toBe(1);
  show(first);
  expect(await calling(ofTenancy)).toBe(1);
  expect(bed.server.requests).toHaveLength(5);
});

test('a root that is remembered is not trusted once the system does not', async () => {
  await calling(ofTenancy);
  await trustedBySystem(second, third);
  await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
  expect(bed.server.requests).toHaveLength(1);
  show(second);
  expect(await calling(ofTenancy)).toBe(1);
  expect(await readFile(remembered(), 'latin1')).toBe(second.pem);
});

test('a loop too forgets a root that the system has removed', async () => {
  const { http, close } = client();
  expect(await http.call(ofTenancy)).toMatchObject({ status: 200 });
  close();
  expect(await http.call(ofTenancy)).toMatchObject({ status: 200 });
  close();
  await trustedBySystem(second, third);
  await expect(http.call(ofTenancy)).rejects.toMatchObject(untrusted);
});

test('an authority between, which the server leaves to the system, is remembered with its root', async () => {
  const between = first.subordinate('between');
  await trustedBySystem(third, first, between, second);
  show(between);
  expect(await calling(ofTenancy)).toBe(1);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem + between.pem);
  expect(await calling(ofTenancy)).toBe(1);
});

test('a root that the server sends signed by somebody else is remembered as the system has it', async () => {
  await calling(ofTenancy);
  await trustedBySystem(third, first, second);
  const { key, cert } = second.issue(['127.0.0.1']);
  bed.server.present({ key, cert: cert + createCa('of old').crossSign(second) });
  expect(await calling(ofTenancy)).toBe(2);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem + second.pem);
  expect(await calling(ofTenancy)).toBe(1);
});

test('an authority between, which the server sends, is not', async () => {
  const between = first.subordinate('between');
  const { key, cert } = between.issue(['127.0.0.1']);
  bed.server.present({ key, cert: cert + between.pem });
  expect(await calling(ofTenancy)).toBe(1);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem);
  expect(await calling(ofTenancy)).toBe(1);
});

test('what stands in the file is trusted no more than by the system', async () => {
  const stranger = createCa('stranger');
  await writeFile(remembered(), stranger.pem + first.pem);
  show(stranger);
  await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
  await writeFile(remembered(), stranger.pem);
  await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
  expect(bed.server.requests).toEqual([]);
  expect(await readFile(remembered(), 'latin1')).toBe(stranger.pem);
});

test('a root that was taken out of the system by a word before it, as before it was remembered, is not trusted', async () => {
  await calling(ofTenancy);
  await writeFile(bundle(), second.pem + first.pem.replace('-----BEGIN', '# -----BEGIN'));
  await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
});

test('a system that trusts nobody is believed', async () => {
  await calling(ofTenancy);
  await writeFile(bundle(), '');
  await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
});

test.each([
  ['is expired', () => second.issue(['127.0.0.1'], { expired: true })],
  ['is for another name', () => second.issue(['localhost'])],
])(
  'a certificate that %s is refused by all roots as by the remembered one, and its own is not remembered',
  async (_what, certificate) => {
    await calling(ofTenancy);
    bed.server.present(certificate());
    await expect(calling(ofTenancy)).rejects.toMatchObject(untrusted);
    expect(await readFile(remembered(), 'latin1')).toBe(first.pem);
  },
);

test.each([
  ['before it', () => unreadableCertificate + first.pem],
  ['behind it', () => first.pem + unreadableCertificate],
])(
  'a certificate of the system that cannot be read, %s, neither hides the root that vouched nor ends the process; it is told once',
  async (_where, text) => {
    await writeFile(bundle(), text());
    expect(await calling(ofTenancy)).toBe(1);
    expect(await readFile(remembered(), 'latin1')).toBe(first.pem);
    expect(told).toEqual([
      `1 of the 2 certificates in ${bundle()} cannot be read and count for nothing: make it anew (update-ca-certificates, update-ca-trust)`,
    ]);
  },
);

test('calls side by side all come through when the remembered root does not do', async () => {
  await calling(ofTenancy);
  show(second);
  const { http, close } = client();
  const ofSecretstore: Call = { ...ofTenancy, peer: 'secretstore', path: '/v1/other' };
  const calls = [ofTenancy, ofTenancy, ofSecretstore, ofTenancy, ofSecretstore].map((call) => http.call(call));
  expect((await Promise.all(calls)).map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  close();
  await until('all connections are closed', async () => bed.server.connections().open === 0);
});

test('a loop that needed all roots once goes on with them, where it could not keep which', async () => {
  await calling(ofTenancy);
  show(second);
  const { http, close } = client();
  for (const connections of [2, 1, 1]) {
    const { came } = bed.server.connections();
    expect(await http.call(ofTenancy)).toMatchObject({ status: 200 });
    expect(bed.server.connections().came - came).toBe(connections);
    close();
    await writeFile(remembered(), first.pem);
  }
});

test('a call is not sent again because its connection broke', async () => {
  await calling(ofTenancy);
  bed.server.answerNext('/check-in', { cut: 'head' });
  await expect(client().http.call({ ...ofTenancy, tries: 1 })).rejects.toMatchObject({ ending: 'offline' });
  expect(bed.server.requests).toHaveLength(2);
});

test('a CA file of the operator is asked once', async () => {
  show(second);
  await expect(bed.client().http.call(ofTenancy)).rejects.toMatchObject(untrusted);
  expect(bed.server.connections().came).toBe(1);
});

test('a download finds its root as a call does', async () => {
  await calling(ofTenancy);
  show(second);
  const { http, close } = client();
  const { status, discard } = await http.stream({ ...ofTenancy, method: 'GET', path: '/bundle' }, never);
  discard();
  close();
  expect(status).toBe(200);
  expect(await readFile(remembered(), 'latin1')).toBe(first.pem + second.pem);
});

test('a file that cannot be read or written changes nothing', async () => {
  await mkdir(remembered());
  expect(await calling(ofTenancy)).toBe(1);
  expect(await calling(ofTenancy)).toBe(1);
});

test('the newest eight stay', async () => {
  const roots = Array.from({ length: 9 }, (_, index) => createCa(`root ${index}`));
  await trustedBySystem(...roots.toReversed());
  for (const root of roots) {
    show(root);
    await calling(ofTenancy);
  }
  expect(await readFile(remembered(), 'latin1')).toBe(
    roots
      .slice(1)
      .map(({ pem }) => pem)
      .join(''),
  );
});
