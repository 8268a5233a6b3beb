import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { createBundle } from '../../../fixtures/world/bundles/bundle.ts';
import { addHost } from '../../../fixtures/world/tenancy/host.ts';
import { holdRestored } from '../../tenancy/backends/restore.ts';

let at: ServiceWithOperators;
beforeAll(async () => void (at = await startWithOperators()));
afterAll(() => at.stop());

it('reviews held environments, adopts archives, and releases only what was confirmed', async () => {
  const { service, admin, viewer, deployer } = at;
  expect((await viewer.run('restore review')).stdout).toBe('no environment is held\n');
  const host = await addHost(service, 'eu-1');
  const { bytes, sha } = createBundle({ env: 'eu-1', sequence: 7, compose: { services: { web: { image: 'app:1' } } } });
  await host.checkIn({ applied_sha: sha });
  service.bundles.archives.set(sha, bytes);
  await service.deps.store.transaction().execute((work) => holdRestored(work, Date.now() - 1000));
  expect((await viewer.run('env show eu-1')).stdout).toMatch(/^held .*`deployctl restore release`$/m);
  expect(await viewer.run('wait eu-1')).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('ENV_HELD') as string,
  });
  const { stdout } = await viewer.run('restore review eu-1');
  expect(stdout).toMatch(/^env {6}eu-1, held since/);
  expect(stdout).toMatch(new RegExp(`^${sha.slice(0, 12)} .* eu-1 .* 7$`, 'm'));
  expect((await viewer.run(`restore adopt ${sha}`)).exit).toBe(77);
  expect(await deployer.run('restore adopt 01234567')).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining('ARCHIVE_NOT_FOUND') as string,
  });
  const adopted = await deployer.run(`restore adopt ${sha.slice(0, 12)}`);
  expect(adopted.stdout).toMatch(/^adopted .*\nenv .*eu-1\nbundle .*sequence 7\n(.*\n)*next .*deployctl promote eu-1/);
  const asked = await admin.run('restore release eu-1');
  expect([asked.exit, asked.stderr]).toEqual([1, expect.stringMatching(/CONFIRM_REQUIRED[^]*--confirm/)]);
  expect((await deployer.run('restore release eu-1 --confirm')).exit).toBe(77);
  expect(await admin.run('restore release eu-1 --confirm')).toMatchObject({
    exit: 0,
    stdout: 'environment eu-1 is released: its hosts get orders at their next check-in\n',
  });
  expect((await admin.run('restore release eu-1 --confirm')).stderr).toContain('ENV_NOT_HELD');
});
