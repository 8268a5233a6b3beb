import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { newSigningKey } from '../../../fixtures/world/signatures/signBundle.ts';
import { startScriptedApi } from '../../../fixtures/world/ctl/scriptedApi.ts';

const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
const credentials = { bootstrap_jwt: 'e30.grant.sig', mesh_enrolment_jwt: 'e30.enrol.sig', download_token: 'glpat-1' };
const kit = {
  id,
  env: 'eu-1',
  site: 'berlin',
  version: '0.2.0',
  base_url: 'https://packages.example/deployd',
  ...credentials,
  expires_at: '2026-11-26T12:00:00Z',
  transport: 'sdk',
  tenancy_url: 'https://tenancy.deploy',
  secretstore_url: 'https://secretstore',
  secretstore_ca: '-----BEGIN CERTIFICATE-----\n…\n-----END CERTIFICATE-----\n',
  command: 'sh install.sh --env eu-1 --bootstrap-file bootstrap.jwt',
};

let api: Awaited<ReturnType<typeof startScriptedApi>>;
beforeEach(async () => {
  api = await startScriptedApi(() => ({ status: 200, body: kit }));
});
afterEach(() => api.stop());

const run = (terminal: number | undefined, ...more: string[]) =>
  deployctl(['kit', id, ...more], { env: api.home.env, ...(terminal !== undefined && { terminal }) });
const holdsCredential = (text: string) => Object.values(credentials).some((credential) => text.includes(credential));

it('writes what the installer takes from files, for their owner alone, and prints the command', async () => {
  const dir = join(api.home.dir, 'kits', 'berlin');
  const { exit, stdout, stderr } = await run(80, '--output', dir);
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' });
  expect(stdout).toContain(kit.command);
  expect(holdsCredential(stdout)).toBe(false);
  const names = ['bootstrap.jwt', 'download-token', 'mesh-enrolment.jwt', 'secretstore-ca.pem'];
  expect((await readdir(dir)).sort()).toEqual(names);
  for (const name of names) expect((await stat(join(dir, name))).mode & 0o777).toBe(0o600);
  expect((await stat(dir)).mode & 0o777).toBe(0o700);
  expect(await readFile(join(dir, 'bootstrap.jwt'), 'utf8')).toBe('e30.grant.sig\n');
  expect(await readFile(join(dir, 'secretstore-ca.pem'), 'utf8')).toBe(kit.secretstore_ca);
});

it('writes the trusted signers of bundles, and prints their fingerprints', async () => {
  const { publicPem } = newSigningKey();
  const subject = `https://forge.example/${'group/'.repeat(30)}.github/workflows/release.yml@refs/heads/main`;
  const identities = [{ issuer: 'https://id.example', subject }];
  const root = { mediaType: 'application/vnd.dev.sigstore.trustedroot+json;version=0.1' };
  const trust = { threshold: 2, keys: [publicPem], identities, root };
  api.server.answerNext('call', { edit: (body: object) => ({ ...body, trust, sequence: 42 }) });
  const dir = join(api.home.dir, 'kit');
  const { stdout } = await run(80, '--output', dir);
  const digest = createHash('sha256').update(JSON.stringify(root)).digest('hex');
  const signers = String.raw`trust +2 signatures required, from 2 trusted signers:\n +key SHA256:[\w+/]{43}\n +${subject} \(https://id.example\)\n +trust root sha256 ${digest}\n`;
  expect(stdout).toMatch(new RegExp(`${signers}sequence +42 or higher\n`));
  expect(JSON.parse(await readFile(join(dir, 'trust.json'), 'utf8'))).toEqual(trust);
});

it('says that a host without signers and a sequence accepts unsigned bundles of any age', async () => {
  const { stdout } = await run(80, '--output', join(api.home.dir, 'kit'));
  expect(stdout).toMatch(/^trust +nobody: the host runs unsigned bundles, unless you give it signers$/m);
  expect(stdout).toMatch(/^sequence +any: the host accepts bundles of any age$/m);
});

it('replaces the files of the previous kit, whatever their mode', async () => {
  const dir = join(api.home.dir, 'kit');
  await mkdir(dir);
  await writeFile(join(dir, 'bootstrap.jwt'), 'superseded', { mode: 0o644 });
  expect(await run(80, '--output', dir)).toMatchObject({ exit: 0 });
  expect(await readFile(join(dir, 'bootstrap.jwt'), 'utf8')).toBe('e30.grant.sig\n');
  expect((await stat(join(dir, 'bootstrap.jwt'))).mode & 0o777).toBe(0o600);
});

it('writes no file for a missing part of the kit', async () => {
  api.server.answerNext('call', {
    edit: (body: object) => ({ ...body, mesh_enrolment_jwt: null, secretstore_ca: null }),
  });
  const dir = join(api.home.dir, 'kit');
  await run(80, '--output', dir);
  expect((await readdir(dir)).sort()).toEqual(['bootstrap.jwt', 'download-token']);
});

it('prints the kit with its grant into a pipe, and its object with --json', async () => {
  expect((await run(undefined)).stdout).toContain(credentials.bootstrap_jwt);
  expect(JSON.parse((await run(undefined, '--json')).stdout)).toEqual(kit);
});

it.each([[], ['--json']])('reveals nothing on a terminal (%s)', async (...more) => {
  const { exit, stdout, stderr } = await run(80, ...more);
  expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
  expect(stderr).toContain('TERMINAL');
  expect(api.calls).toEqual([]);
  expect((await run(80, '--show', ...more)).stdout).toContain(credentials.bootstrap_jwt);
});

it('reveals nothing where it could not be written', async () => {
  await writeFile(join(api.home.dir, 'file'), '');
  const { exit, stderr } = await run(80, '--output', join(api.home.dir, 'file/kit'));
  expect(exit).toBe(1);
  expect(stderr).toContain('FILE_UNWRITABLE');
  expect(api.calls).toEqual([]);
});

it('with --output and --json prints the object without credentials', async () => {
  const { stdout } = await run(80, '--json', '--output', join(api.home.dir, 'kit'));
  expect(holdsCredential(stdout)).toBe(false);
  expect(JSON.parse(stdout)).toMatchObject({ id, command: kit.command });
});

describe('host add', () => {
  const lines = [
    'curl -o deployd-host.sh https://tenancy.deploy/v1/host.sh &&',
    "  sh deployd-host.sh <<'END'",
    'dhc_1',
    'END',
  ];
  const added = { id, env: 'eu-1', site: 'berlin', state: 'created', created: true, packages: ['deployd_1_amd64.deb'] };
  const code = { ...added, expires_at: '2026-11-26T12:00:00Z', lines };
  const addHost = (...more: string[]) => deployctl(['host', 'add', 'berlin', ...more], { env: api.home.env });

  it('prints only the lines to standard output, and about the host to standard error', async () => {
    api.server.answerNext('call', { edit: () => code });
    const { exit, stdout, stderr } = await addHost('eu-1', '--site', 'rack 1', '--yes');
    expect({ exit, stdout }).toEqual({ exit: 0, stdout: `${lines.join('\n')}\n` });
    expect(stderr).toMatch(/^host berlin \(0f8fad5b, environment eu-1, site berlin\): created\non the host, paste/);
    const [request] = api.calls;
    expect(request).toMatchObject({ method: 'POST', path: '/v1/host-codes' });
    const fields = { env: 'eu-1', name: 'berlin', site: 'rack 1', unattended: true };
    expect(JSON.parse(String(request?.body))).toEqual(fields);
  });

  it('says that credentials will be replaced, and that the service has no packages', async () => {
    api.server.answerNext('call', { edit: () => ({ ...code, created: false, state: 'active', packages: [] }) });
    const { stderr } = await addHost('eu-1');
    expect(stderr).toContain(
      'berlin): exists, active; the lines replace its credentials\nwarning: the service has no package',
    );
  });
});
