import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import { followTls, readTlsFiles, tlsFilesSource } from './startServer.ts';

const ca = createCa();
let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'deployd tls '))));
afterEach(() => rm(dir, { recursive: true }));

const filesIn = () => ({ certificate: join(dir, 'cert.pem'), key: join(dir, 'key.pem') });
const write = async (name: 'certificate' | 'key', pem: string) => writeFile(filesIn()[name], pem);

async function subjectAt(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return String(subject.CN);
}

it('uses the new certificate once both files are replaced, and the old one until then', async () => {
  const [first, second] = [ca.issue(['one.example']), ca.issue(['two.example'])];
  await Promise.all([write('certificate', first.cert), write('key', first.key)]);
  const identity = readTlsFiles(filesIn());
  const server = createServer(identity).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const lines: string[] = [];
  let told = Promise.withResolvers<void>();
  const log = (level: string, line: string) => {
    lines.push(`${level} ${line}`);
    told.resolve();
  };
  const stop = followTls(server, { source: { ...tlsFilesSource(filesIn()), everyMs: 10 }, identity, log });
  expect(await subjectAt(port)).toBe('one.example');
  await write('certificate', second.cert);
  await told.promise;
  expect(lines[0]).toMatch(/^warn the TLS certificate cannot be used: .*key/);
  expect(await subjectAt(port)).toBe('one.example');
  await write('key', second.key);
  while (!lines.at(-1)?.startsWith('info')) await (told = Promise.withResolvers()).promise;
  expect(await subjectAt(port)).toBe('two.example');
  await stop();
  server.close();
});

it('refuses to start with a key that does not match the certificate', async () => {
  await write('certificate', ca.issue(['one.example']).cert);
  await write('key', ca.issue(['two.example']).key);
  expect(() => readTlsFiles(filesIn())).toThrow('the key does not belong to the certificate');
});

it('names the files if one of them is missing', () => {
  const { certificate, key } = filesIn();
  expect(() => readTlsFiles(filesIn())).toThrow(`${certificate} and ${key}: ENOENT`);
});
