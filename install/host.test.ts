import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { HostCode } from '../src/tenancy/backends/backendSchemas.ts';
import { pinOf } from '../src/tenancy/keys/ownAuthority.ts';
import { createCa } from '../fixtures/world/servers/crypto/ca.ts';
import { checkInOf } from '../fixtures/world/tenancy/agentBodies.ts';
import { addOperator } from '../fixtures/world/tenancy/operatorClient.ts';
import { type Service, startService } from '../fixtures/world/tenancy/service.ts';
import { freePort } from '../fixtures/world/wait.ts';
import { makePackage } from './packageArchive.ts';
import { createScratchHost, type ScratchHost } from './scratchHost.ts';

/** The version of the service in these tests. */
const version = '0.0.0-test';

/** A process and its descendants. */
function descendantsOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children.flatMap((child) => descendantsOf(Number(child)))];
}

/** Kills a process and its descendants. They are stopped first, because one of them may just start another one. */
function killTree(pid: number): void {
  for (let stopped: number[] = []; ;) {
    const found = descendantsOf(pid);
    if (found.length === stopped.length) break;
    for (const each of found) process.kill(each, 'SIGSTOP');
    stopped = found;
  }
  for (const each of descendantsOf(pid)) process.kill(each, 'SIGKILL');
}

describe('the lines of `deployctl host add`', () => {
  const ca = createCa();
  const tls = ca.issue(['localhost']);
  let service: Service;
  let token: string;
  let host: ScratchHost;
  let now = Date.now();
  beforeAll(async () => {
    const port = await freePort();
    const own = { authority: ca.pem, pin: pinOf(tls.cert) };
    const settings = { public_url: `https://localhost:${port}` };
    service = await startService({ tls, port, settings, clock: () => now, deps: { ownAuthority: async () => own } });
    const { packages_dir } = service.deps.settings.kit;
    await mkdir(packages_dir);
    await writeFile(join(packages_dir, `deployd_${version}_amd64.deb`), (await makePackage(version)).deb);
    ({ token } = await addOperator(service));
    await call('envs', { name: 'main', production: false });
  });
  afterAll(() => service.stop());
  beforeEach(async () => {
    now = Date.now();
    host = await createScratchHost();
    await host.write('played/docker', '#!/bin/sh\necho "${COMPOSE-2.30.1}"\n', 0o755);
    await host.write('played/dockerd', '#!/bin/sh\n', 0o755);
  });
  afterEach(() => host.remove());

  const call = (path: string, payload: object, bearer = token) =>
    service.app.inject({ method: 'POST', url: `/v1/${path}`, headers: { authorization: `Bearer ${bearer}` }, payload });
  let count = 0;
  const add = async () => {
    const answer = await call('host-codes', { env: 'main', name: `host-${++count}` });
    expect(answer.statusCode).toBe(201);
    return answer.json<HostCode>();
  };
  const paste = ({ lines }: HostCode, env: Record<string, string> = {}) =>
    host.start([], { shell: ['dash', '-c', lines.join('\n')], env });
  const codeIn = ({ lines }: HostCode) => lines.at(-2) ?? '';
  it('install the package that the service hands out, and enrol the host', async () => {
    const added = await add();
    const { code, stdout, stderr } = await paste(added).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`deployd install: installing deployd ${version}`);
    expect(stdout).toMatch(/deployd host: this host is added; deployctl host list shows it\n$/);
    expect(await host.read('etc/deployd/config.yaml')).toContain(`tenancy_url: 'https://localhost:${service.port}'`);
    expect(await host.read('etc/deployd/tenancy-ca.pem')).toBe(ca.pem);
    expect(await host.rights('var/lib/deployd/store.token')).toBe('0600 deployd:deployd');
    expect(await host.list('var/lib/deployd-host')).toEqual(['lock']);
    for (const text of [stdout, (await host.calls()).join()]) expect(text).not.toContain(codeIn(added));
  });

  it.each([['apt-get'], ['deployd.bootstrap']])('continue after an interruption in %s', async (stage) => {
    const added = await add();
    const { reached } = await host.hold(stage);
    const running = paste(added);
    await reached;
    killTree(running.child.pid ?? 0);
    await running.ended;
    for (const end of ['at', 'go']) await rm(host.path(`hold/${stage}.${end}`));
    expect((await host.list('var/lib/deployd-host')).toSorted()).toEqual(expect.arrayContaining(['key', 'lock']));
    expect(await host.rights('var/lib/deployd-host/key')).toBe('0600 root:root');
    expect(await paste(added).ended).toMatchObject({ code: 0 });
  });

  it('have no effect on a service with another key', async () => {
    const strange = createCa().issue(['localhost']);
    const other = await startService({ tls: strange, settings: { public_url: 'https://localhost' } });
    const added = await add();
    const lines = added.lines.map((line) => line.replace(String(service.port), String(other.port)));
    const before = await host.snapshot();
    const { stderr } = await paste({ ...added, lines }).ended;
    expect(stderr).toMatch(/^curl: \(90\) .*public key/i);
    expect(await host.snapshot()).toEqual(before);
    await other.stop();
  });

  it('ask nothing and install nothing where an engine is missing and there is no terminal', async () => {
    await host.write('played/apt-get', '#!/bin/sh\n', 0o755);
    const { code, stderr } = await paste(await add(), { COMPOSE: '2.19.9' }).ended;
    const asked = /^deployd host: this host has no compose, and there is no terminal to ask on: run deployctl host add/;
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(asked) as string });
    expect(await host.list('etc')).not.toContain('deployd');
  });

  const refusals: [fault: string, prepare: (added: HostCode) => unknown, stderr: RegExp][] = [
    [
      'another host has redeemed it',
      (added) => call('host-codes/redeem', { code: codeIn(added), host: '0'.repeat(64) }),
      /^deployd host: another host has redeemed this code: .* make another one: deployctl host add NAME\n$/,
    ],
    ['an hour has passed', () => (now += 3600_001), /^deployd host: the code has expired: it is valid for an hour;/],
    [
      'there is a newer one',
      (added) => call('host-codes', { env: 'main', name: added.site }),
      /^deployd host: the service does not know this code, or a newer one has replaced it;/,
    ],
    [
      'the record is retired',
      (added) => call(`backends/${added.id}/retire`, { confirm: true }),
      /^deployd host: the record of this host is retired;/,
    ],
    [
      'it is damaged',
      (added) => added.lines.splice(-2, 1, codeIn(added).slice(1)),
      /^deployd host: standard input does not contain a one-time code: paste all lines/,
    ],
  ];
  it.each(refusals)('are refused with a cure when %s', async (_fault, prepare, stderr) => {
    // The environment keeps its secrets.
    await add();
    const added = await add();
    await prepare(added);
    expect(await paste(added).ended).toEqual({
      code: 1,
      stdout: expect.any(String) as string,
      stderr: expect.stringMatching(stderr) as string,
    });
    expect(await host.list('etc')).not.toContain('deployd');
  });

  it('say that nothing is left to do once the host has checked in', async () => {
    const added = await add();
    await paste(added).ended;
    const identity = { backendId: added.id, env: 'main', generation: 1 };
    const { bearer } = service.secretstore.issueToken(identity);
    expect(await call('agent/check-in', checkInOf({ env: 'main' }), bearer)).toMatchObject({ statusCode: 200 });
    expect(await paste(added).ended).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('has checked in: nothing is left to do') as string,
    });
  });
});
