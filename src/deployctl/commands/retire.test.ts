import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { addHost } from '../../../fixtures/world/tenancy/host.ts';
import { runBackgroundOnce } from '../../tenancy/server/background.ts';

const grace_s = 7 * 86_400;
let at: ServiceWithOperators;
let env: string;
let count = 0;
beforeAll(async () => {
  at = await startWithOperators({ settings: { secret_grace_s: grace_s } });
});
beforeEach(async () => {
  env = `env-${count++}`;
  await at.admin.run(`env create ${env}`);
});
afterAll(() => at.stop());

describe('a retirement', () => {
  it('must be confirmed', async () => {
    const { id } = await addHost(at.service, env);
    const { exit, stderr } = await at.admin.run(`retire ${id}`);
    expect({ exit, stderr }).toEqual({
      exit: 1,
      stderr: expect.stringMatching(/CONFIRM_REQUIRED.*\n {2}→ add --confirm/) as string,
    });
  });

  it('shows on a terminal what it destroys, and asks for the name of the host', async () => {
    const host = await addHost(at.service, env);
    await addHost(at.service, env);
    await host.checkIn();
    const ask = (stdin: string) => at.admin.run(`retire ${host.id} --purge-volumes`, { terminal: 200, stdin });
    const refused = await ask('host-2\n');
    expect(refused).toMatchObject({ exit: 1, stderr: expect.stringContaining('NOT_CONFIRMED') as string });
    expect(refused.stderr).toContain(
      `this retires the host host-1 (${host.id.slice(0, 8)}, site fra, environment ${env}):\nservices that are stopped: web\nits volumes are removed, except on a production host\n`,
    );
    expect(await at.viewer.json(`host show ${host.id}`)).toMatchObject({ state: 'active' });
    expect(await ask('host-1\n')).toMatchObject({ exit: 0, stdout: 'host host-1 is retiring\n' });
  });

  it('shows the next state', async () => {
    const host = await addHost(at.service, env);
    await host.checkIn();
    expect(await at.admin.run(`retire ${host.id} --confirm --purge-volumes`)).toEqual({
      exit: 0,
      stderr: '',
      stdout: 'host host-1 is retiring\n',
    });
    expect(await at.viewer.json(`backend show ${host.id}`)).toMatchObject({ state: 'retiring', purge_volumes: true });
    expect(await at.admin.json(`retire ${host.id} --confirm --force`)).toEqual({
      ...{ id: host.id, state: 'finishing', secrets: { choice: null, grace_s } },
      leftover: expect.stringContaining('may still run') as string,
    });
    expect((await at.viewer.run(`backend show ${host.id}`)).stdout).toMatch(/^pending +revokeToken$/m);
  });

  it('retires all managers of a swarm on request, each with its state', async () => {
    const [one, two] = [await addHost(at.service, env), await addHost(at.service, env)];
    for (const host of [one, two]) {
      await host.checkIn({ swarm: { id: `swarm-of-${env}`, node: 'n', leader: host === one } });
    }
    expect(await at.admin.run(`retire ${two.id} --confirm --swarm`)).toEqual({
      exit: 0,
      stderr: '',
      stdout: 'host host-1 is retiring\nhost host-1 is retiring\n',
    });
  });

  it('warns of containers that may still run', async () => {
    const host = await addHost(at.service, env);
    await host.checkIn();
    await at.admin.run(`backend lock ${host.id}`);
    const { stdout } = await at.admin.run(`retire ${host.id} --confirm`);
    expect(stdout).toMatch(/ is retiring\nwarning: its host is locked, so it does not get the order/);
    await at.admin.run(`retire ${host.id} --confirm --force`);
    const listed = await at.viewer.run(`backend list --env ${env}`);
    expect(listed.stdout).toContain('finishing, locked, may still run');
    const { stdout: shown } = await at.viewer.run(`backend show ${host.id}`);
    expect(shown).toMatch(/^warning +its host has not reported that its services are stopped/m);
  });

  describe('of the last host of an environment', () => {
    const names = () => at.service.secretstore.secrets.size;
    let id: string;
    beforeEach(async () => {
      at.service.secretstore.secrets.clear();
      for (const key of ['db', 'mail']) await at.admin.run(`secret set ${env} ${key}`, { stdin: 'x' });
      ({ id } = (await at.admin.json(`backend create --env ${env} --site fra`)) as { id: string });
    });
    const work = () => runBackgroundOnce(at.service.deps, new AbortController().signal);

    it.each([
      ['keep', /\(db, mail\) are kept$/m, 2],
      ['destroy', /\(db, mail\) are destroyed when the retirement is finished$/m, 0],
    ])('asks on a terminal what happens to its secrets, by name: %s', async (answer, told, left) => {
      const asked = await at.admin.run(`retire ${id} --confirm`, { terminal: 200, stdin: `${answer}\n` });
      expect(asked).toMatchObject({ exit: 0, stdout: expect.stringMatching(told) as string });
      expect(asked.stderr).toContain(`no other host of environment ${env} remains; its secrets: db, mail\n`);
      await work();
      expect(names()).toBe(left);
    });

    it('retires nothing after another answer', async () => {
      const asked = await at.admin.run(`retire ${id} --confirm`, { terminal: 200, stdin: 'y\n' });
      expect(asked).toMatchObject({ exit: 1, stderr: expect.stringContaining('NOT_CONFIRMED') as string });
      expect(await at.viewer.json(`backend show ${id}`)).toMatchObject({ state: 'created' });
    });

    it('shows without a terminal when they are destroyed, and the command that keeps them', async () => {
      const { stdout } = await at.admin.run(`retire ${id} --confirm`);
      expect(stdout).toContain(
        `the secrets of environment ${env} (db, mail) are destroyed 7 days after its last host; to keep them: deployctl secret keep ${env}\n`,
      );
      await work();
      const doomed = new RegExp(`destroyed .*; to keep them: deployctl secret keep ${env}`);
      for (const command of [`backend show ${id}`, `env show ${env}`, `secret list ${env}`])
        expect((await at.viewer.run(command)).stdout).toMatch(doomed);
      expect((await at.admin.run(`secret set ${env} db`, { stdin: 'y' })).stderr).toMatch(
        /SECRETS_DOOMED: .*\n {2}→ `deployctl secret keep ENV`/,
      );
      expect((await at.deployer.run(`secret keep ${env}`)).stdout).toBe(`the secrets of environment ${env} are kept\n`);
      expect(await at.viewer.json(`backend show ${id}`)).toMatchObject({ state: 'retired' });
      expect(names()).toBe(2);
    });

    it('asks nothing while another host remains', async () => {
      await at.admin.json(`backend create --env ${env} --site ber`);
      expect((await at.admin.run(`retire ${id} --confirm`, { terminal: 200 })).stdout).toBe(
        `host ${id.slice(0, 8)} is finishing\n`,
      );
    });
  });
});
