import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runBackgroundOnce } from '../services/background/background.ts';
import type { InstallKit } from '../services/kit.ts';
import { addHost } from '../../../fixtures/tenancy/host.ts';
import { addOperator } from '../../../fixtures/tenancy/operatorClient.ts';
import { startService, type Service } from '../../../fixtures/tenancy/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({ deps: { kit: { secretstoreCa: null, downloadToken: 'canary-of-download' } } });
});
afterAll(() => service.stop());

/** Every file of the service, byte for byte, and every line of its log. */
async function everythingKept(): Promise<string> {
  const files = await readdir(service.dir, { recursive: true, withFileTypes: true });
  const contents = files
    .filter((file) => file.isFile())
    .map((file) => readFile(join(file.parentPath, file.name), 'latin1'));
  return [...(await Promise.all(contents)), JSON.stringify(service.log)].join('\n');
}

it('keeps no value of a secret, no token and no grant, neither in files nor in the log', async () => {
  const admin = await addOperator(service);
  const host = await addHost(service, 'eu-1');
  await host.checkIn();
  const value = 'canary-of-secret';
  await admin.call('PUT envs/eu-1/secrets/db', { data: { password: value } });
  await admin.call('PUT envs/eu-1/secrets/db', { data: { password: [value] } });
  service.secretstore.away = true;
  await admin.call('PUT envs/eu-1/secrets/db', { data: { password: value } });
  service.secretstore.away = false;
  const created = await admin.call('POST operators', { name: 'bob', role: 'viewer', envs: null });
  const { body } = await admin.call('POST backends', { env: 'eu-1', site: 'fra', laptop: false, transport: 'sdk' });
  const kit = (await admin.call(`GET backends/${body['id'] as string}/agent/install`)).body as unknown as InstallKit;
  await runBackgroundOnce(service.deps, new AbortController().signal);
  const kept = await everythingKept();
  expect(kept).toContain('deployd/data/eu-1/see/db');
  const secrets = {
    value,
    admin: admin.token,
    operator: created.body['token'] as string,
    store: host.bearer,
    grant: kit.bootstrap_jwt,
    enrolment: kit.mesh_enrolment_jwt ?? '',
    download: 'canary-of-download',
  };
  expect(Object.entries(secrets).filter(([, secret]) => secret === '' || kept.includes(secret))).toEqual([]);
});
