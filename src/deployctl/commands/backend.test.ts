import { randomUUID } from 'node:crypto';
import { access, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { newSigningKey } from '../../../fixtures/world/signatures/signBundle.ts';
import { checkInOf } from '../../../fixtures/world/tenancy/agentBodies.ts';
import { addHost } from '../../../fixtures/world/tenancy/host.ts';

let at: ServiceWithOperators;
let env: string;
let count = 0;
beforeAll(async () => {
  at = await startWithOperators();
});
beforeEach(async () => {
  env = `env-${count++}`;
  await at.admin.run(`env create ${env}`);
});
afterAll(() => at.stop());

const create = async (...more: string[]) =>
  (await at.admin.json(['backend', 'create', '--env', env, '--site', 'berlin', ...more])) as { id: string };

it('needs no environment where the token may see only one, and names all where it may see several', async () => {
  await at.admin.run('env create env-other');
  const words = ['host', 'create', '--site', 'berlin'];
  const refusal = async (by: typeof at.admin) => {
    const { exit, stderr } = await by.run(words);
    return `${exit} ${stderr}`;
  };
  expect(await refusal(at.admin)).toMatch(
    /^2 deployctl: ENV_REQUIRED: there are several environments: .*env-\d.*\n.*name one of them/,
  );
  expect(await refusal(at.limited)).toContain('2 deployctl: ENV_REQUIRED: there is no environment yet');
  await at.admin.run('env create eu-1');
  expect(await at.limited.json(words)).toMatchObject({ env: 'eu-1' });
  expect(await at.limited.run('secret list')).toMatchObject({ exit: 0 });
});

it('creates and shows a backend', async () => {
  const created = await create('--transport', 'sdk', '--laptop');
  expect(created).toMatchObject({ env, site: 'berlin', transport: 'sdk', laptop: true, state: 'created' });
  expect(await at.viewer.json(`backend show ${created.id}`)).toEqual(created);
  const { stdout } = await at.viewer.run(`backend show ${created.id}`);
  expect(stdout).toMatch(/^host {11}environment env-\d+, site berlin, transport sdk, laptop$/m);
  expect(stdout).toMatch(/^last seen {6}never$/m);
});

describe('a host with a name', () => {
  const named = async (name: string) => {
    const host = await addHost(at.service, env);
    await host.checkIn({ host: { name: `${name}.${env}.example`, arch: 'x64', os: 'linux' } });
    return host;
  };

  it.each(['show', 'label', 'lock', 'unlock', 'accept', 'kit', 'reports', 'retire'])(
    'is named by its name, without its domain, or by its id, whole or short, to %s it',
    async (command) => {
      const name = `web-${env}`;
      const { id } = await named(name);
      await named(`${name}9`);
      const words = (host: string) =>
        ({ kit: ['kit', host, '--show'], reports: ['reports', host], retire: ['retire', host, '--confirm'] })[
          command
        ] ?? ['host', command, host];
      const names = [id, id.slice(0, 8), name, `${name}.${env}.EXAMPLE`];
      for (const host of names) expect(await at.admin.run(words(host))).toMatchObject({ exit: 0, stderr: '' });
      expect(await at.admin.run(words(`web-${env}1`))).toEqual({
        exit: 1,
        stdout: '',
        stderr: `deployctl: HOST_UNKNOWN: no host is named web-${env}1\n  → \`deployctl host list --search web-${env}1\`\n`,
      });
    },
  );

  it('is refused with the candidates if another one is named so, and not if that one is retired', async () => {
    const name = `web-${env}`;
    const [one, two] = [await named(name), await named(name)];
    const { exit, stderr } = await at.admin.run(`retire ${name} --confirm`);
    expect(exit).toBe(1);
    const line = (id: string) => `  ${name}.${env}.example (${id.slice(0, 8)}, site fra, environment ${env})\n`;
    expect(stderr).toContain(`HOST_AMBIGUOUS: 2 hosts are named ${name}\n`);
    for (const { id } of [one, two]) expect(stderr).toContain(line(id));
    const { stderr: json } = await at.viewer.run(`host show ${name} --json`);
    expect(JSON.parse(json)).toMatchObject({ error: { code: 'HOST_AMBIGUOUS', details: [{}, {}] } });
    await at.service.deps.store.updateTable('backends').set({ state: 'retired' }).where('id', '=', one.id).execute();
    expect(await at.viewer.json(`host show ${name}`)).toMatchObject({ id: two.id });
  });

  it('is listed by its name and a short id, and found by a part of its name', async () => {
    const { id } = await named('web-3');
    await create();
    const { stdout } = await at.viewer.run(`host list --env ${env} --search WEB-3.`);
    expect(stdout).toMatch(new RegExp(`^HOST .* ID\nweb-3.${env}.example +${env} +fra .* ${id.slice(0, 8)}\n$`));
    const { stdout: sorted } = await at.viewer.run(`host list --env ${env} --sort host_name --reverse`);
    expect(sorted.split('\n')[1]).toMatch(/^web-3/);
  });
});

it('locks a backend, lists the secrets that its host could have read, and unlocks it', async () => {
  const { id } = await create();
  expect((await at.admin.run(`backend lock ${id}`)).stdout).toMatch(/has no secrets that it could have read/);
  await at.admin.run(`secret set ${env} db`, { stdin: 'x' });
  const { stdout } = await at.admin.run(`backend lock ${id}`);
  expect(stdout).toContain(`replace each at its source, then here:\n  deployctl secret set ${env} db\n`);
  expect((await at.viewer.run(`backend list --env ${env}`)).stdout).toContain('created, locked');
  expect((await at.viewer.run(`backend show ${id}`)).stdout).toMatch(/^locked +since .*: all calls are refused$/m);
  at.service.secretstore.away = true;
  const { stdout: unlisted } = await at.admin.run(`backend lock ${id}`);
  at.service.secretstore.away = false;
  expect(unlisted).toMatch(/cannot be listed \(.*\): deployctl secret list/);
  expect((await at.viewer.run(`backend unlock ${id}`)).exit).not.toBe(0);
  expect(await at.admin.json(`backend unlock ${id}`)).toMatchObject({ id, locked_at: null });
});

it('lists the hosts with one token, and accepts one of them', async () => {
  const host = await addHost(at.service, env);
  const machine = 'a'.repeat(64);
  const copies = ['1', '2'].map((digit) => ({
    host: { name: 'web', arch: 'x64', os: 'linux', machine, boot: digit.repeat(8) + randomUUID().slice(8) },
  }));
  for (const copy of [copies[0], copies[1], copies[0]]) await host.checkIn(copy);
  expect((await at.viewer.run(`backend list --env ${env} --cloned`)).stdout).toContain('active, cloned');
  const shown = (await at.viewer.run(`backend show ${host.id}`)).stdout;
  expect(shown).toMatch(/^cloned +since .*: two hosts use its token, and both are refused/m);
  expect(shown).toMatch(/^contending +web \(boot 11111111, 127.0.0.1\), last seen /m);
  const { stdout } = await at.viewer.run(`backend accept ${host.id}`);
  expect(stdout).toMatch(/^22222222 +aaaaaaaa +web +127.0.0.1 .* contending$/m);
  const unknown = await at.admin.run(`backend accept ${host.id} 3`);
  expect(unknown).toMatchObject({
    exit: 2,
    stderr: expect.stringMatching(
      /: no host with the token of web \(.*\n {2}BOOT .*\n {2}11111111 .*\n {2}22222222 /,
    ) as string,
  });
  expect((await at.admin.run(`retire ${host.id} --confirm`)).stderr).toContain('deployctl host accept ID');
  const accepted = await at.admin.run(`backend accept ${host.id} 1111`);
  expect(accepted.stdout).toMatch(/^web \(boot 11111111.*\) is accepted\nrefused: web \(boot 22222222/);
  expect(await host.checkIn(copies[0])).toMatchObject({ status: 200 });
  expect((await at.admin.run(`backend accept ${host.id}`)).stdout).toContain('no host waits for a decision');
  const retired = await at.admin.run(`retire ${host.id} --confirm`);
  expect(retired.stdout).toContain('warning: web (boot 22222222, 127.0.0.1) uses the same token and may run on');
});

it('lists backends page by page, as one list', async () => {
  const ids = await Promise.all(Array.from({ length: 5 }, async () => (await create()).id));
  const listed = (await at.viewer.json(`backend list --env ${env}`)) as { backends: { id: string }[]; next: null };
  expect(listed.backends.map(({ id }) => id)).toEqual(ids.toSorted());
  expect(listed.next).toBeNull();
  expect(await at.viewer.json(`backend list --env ${env} --limit 2`)).toMatchObject({
    backends: [{}, {}],
    next: ids.toSorted()[1],
  });
  expect(await at.viewer.json(`backend list --env ${env} --state active`)).toEqual({ backends: [], next: null });
});

it.each([
  ['host list --env nosuch', 'ENV_NOT_FOUND', /→ `deployctl env list` lists/],
  ['host list --swarm nosuch', 'FILTER_UNKNOWN', /no host manages the swarm nosuch/],
  ['bundle list --env nosuch', 'ENV_NOT_FOUND', /→ `deployctl env list` lists/],
  ['audit --env nosuch', 'ENV_NOT_FOUND', /→ `deployctl env list` lists/],
  ['audit --act typo', 'FILTER_UNKNOWN', /no entry of the audit log has the action typo/],
  ['audit --actor nobody', 'FILTER_UNKNOWN', /no entry of the audit log has the operator nobody/],
])('`%s` names nothing that exists: %s', async (command, code, text) => {
  const outcome = await at.admin.run(command);
  expect(outcome).toMatchObject({ exit: 1, stdout: '', stderr: expect.stringMatching(text) as string });
  expect(outcome.stderr).toContain(`deployctl: ${code}: `);
});

it('finds nothing in an environment that exists', async () => {
  for (const list of ['host list', 'bundle list'])
    expect(await at.admin.run(`${list} --env ${env}`)).toMatchObject({ exit: 0, stderr: '' });
  expect(await at.admin.run(`audit --env ${env} --act env.delete`)).toMatchObject({ exit: 1 });
  expect(await at.admin.run(`audit --env ${env} --actor admin --act env.create`)).toMatchObject({ exit: 0 });
});

it('finds, filters and sorts backends', async () => {
  const [zurich, paris] = [await create('--site', 'zurich', '--label', 'ring=canary'), await create('--site', 'paris')];
  const host = await addHost(at.service, env);
  await host.checkIn();
  await host.report('failed');
  const ids = async (options: string) => {
    const { backends } = (await at.viewer.json(`backend list --env ${env} ${options}`)) as {
      backends: { id: string }[];
    };
    return backends.map(({ id }) => id);
  };
  expect(await ids('--search Canary')).toEqual([zurich.id]);
  expect(await ids('--sick')).toEqual([host.id]);
  expect(await ids('--behind')).toEqual([]);
  expect(await ids('--state created active --sort site')).toEqual([host.id, paris.id, zurich.id]);
  expect(await ids('--state created --sort site --reverse')).toEqual([zurich.id, paris.id]);
  expect((await at.viewer.run(`backend list --env ${env} --sick`)).stdout).toMatch(
    /^\S+ +\S+ +fra +active +\S+ +0\.2\.0 +failed +- /m,
  );
  await host.checkIn({ window_opens_at: '2100-01-01T00:00:00.000Z' });
  expect([await ids('--deferred-by hold'), await ids('--deferred-by window')]).toEqual([[], [host.id]]);
  expect((await at.viewer.run(`backend list --env ${env} --sick`)).stdout).toMatch(/ failed +window /);
});

it('shows the version of the agent of each host, and finds hosts by it', async () => {
  const [canary, other] = [await addHost(at.service, env), await addHost(at.service, env)];
  await canary.checkIn({ agent: { ...checkInOf().agent, version: '0.3.0' } });
  await other.checkIn();
  const list = async (options: string) => (await at.viewer.run(`backend list --env ${env} ${options}`)).stdout;
  const rows = (await list('--sort agent_version --reverse')).trimEnd().split('\n').slice(1);
  expect(rows).toEqual([expect.stringMatching(/^\S+ .* 0\.3\.0 /), expect.stringMatching(/^\S+ .* 0\.2\.0 /)]);
  expect((await list('--search 0.3.0')).match(/^\S+/gm)).toEqual(['HOST', 'host-1']);
});

it('shows a table that fits the terminal, whatever the site is called', async () => {
  await create();
  await at.admin.run(['backend', 'create', '--env', env, '--site', `${'東'.repeat(60)}\u202e\u2028x`]);
  const { stdout } = await at.viewer.run(`backend list --env ${env}`, { env: at.viewer.home.env, terminal: 100 });
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(3);
  expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{C}\u2028]/u);
});

it('shows what the host last reported', async () => {
  const host = await addHost(at.service, env);
  await host.checkIn({ healthy: false });
  await host.report('refused', { code: 'COMPOSE_REFUSED', detail: 'service web: \u001b[31mbuild' });
  const shown = await at.viewer.run(`backend show ${host.id}`);
  expect(shown.stdout).toMatch(/^healthy {8}no$/m);
  expect(shown.stdout).toMatch(
    /^last report {4}refused \(sha_changed\) at .* ago\)\n +service web: \ufffd\[31mbuild$/m,
  );
  const { stdout } = await at.viewer.run(`reports ${host.id}`);
  expect(stdout).toMatch(/^\d+s +refused +sha_changed +- +- +COMPOSE_REFUSED: service web: \ufffd\[31mbuild\n$/m);
  await host.report('applied', { detail: null, replaced: [{ service: 'web', order: 'stop-first', why: 'no key' }] });
  expect((await at.viewer.run(`backend show ${host.id}`)).stdout).toMatch(/ applied .*\n +web: stop-first: no key$/m);
  const { reports } = (await at.viewer.json(`reports ${host.id} --limit 2`)) as { reports: { detail: string }[] };
  expect(reports.map(({ detail }) => detail)).toEqual([null, 'service web: \u001b[31mbuild']);
});

it('shows the hold of a host, and when its windows open', async () => {
  const host = await addHost(at.service, env);
  const hold = { until: '2100-01-01T00:00:00.000Z', reason: 'disk \u001b[31mswap' };
  const window_opens_at = '2100-01-02T22:00:00.000Z';
  const show = async () => (await at.viewer.run(`backend show ${host.id}`)).stdout;
  await host.checkIn({ hold });
  expect(await show()).toMatch(/^held {11}until 2100-01-01T00:00:00.000Z \(in \d+d\): disk \ufffd\[31mswap$/m);
  await host.checkIn({ hold: { ...hold, since: '2026-01-01T00:00:00.000Z', by: 'kim' }, window_opens_at });
  const stdout = await show();
  expect(stdout).toMatch(/^held .*, since 2026-01-01T00:00:00.000Z \(.*\), by kim: disk \ufffd\[31mswap$/m);
  expect(stdout).toMatch(/^windows {8}closed, the next opens 2100-01-02T22:00:00.000Z \(in \d+d\)$/m);
});

it('shows the trusted signers of a host, how its environment differs, and violations', async () => {
  const host = await addHost(at.service, env);
  const violations = [{ by: 'trust' as const, service: null, detail: 'signed by a \u001b[31mremoved key' }];
  await host.checkIn({ trust: { bundles: null, images: null }, violations });
  const list = async () => (await at.viewer.run(`backend list --env ${env}`)).stdout;
  expect(await list()).not.toContain('SETTINGS');
  const keys = [newSigningKey().publicPem];
  await at.service.deps.store
    .insertInto('bundle_trusts')
    .values({ env, threshold: 1, trust: JSON.stringify({ threshold: 1, keys, identities: [], root: null }) })
    .execute();
  expect(await list()).toMatch(/ differs +\S+\n/);
  const { stdout } = await at.viewer.run(`backend show ${host.id}`);
  expect(stdout).toMatch(/^differs {8}the host requires no signatures of bundles, but its environment does$/m);
  expect(stdout).toMatch(/^violation {6}trust: signed by a \ufffd\[31mremoved key$/m);
  expect(stdout).toMatch(/^trust {10}bundles need no signature; images need no signature$/m);
});

it('shows the managers of a swarm as such', async () => {
  const [one, two] = [await addHost(at.service, env), await addHost(at.service, env)];
  const list = async (options = '') => (await at.viewer.run(`backend list --env ${env}${options}`)).stdout;
  const swarm = `swarm-of-${env}`;
  const tell = (node: string, leader: boolean) => ({ swarm: { id: swarm, node, leader } });
  await one.checkIn();
  expect(await list()).not.toContain('SWARM');
  await one.checkIn(tell('n1', true));
  await two.checkIn(tell('n2', false));
  await create();
  const lines = (await list()).split('\n').filter((line) => / (SWARM|swarm-of-\S+( leader)?) /.test(line));
  expect(lines).toHaveLength(3);
  expect(lines.find((line) => line.includes(one.id.slice(0, 8)))).toMatch(/ leader /);
  expect((await list(` --swarm ${swarm}`)).trimEnd().split('\n')).toHaveLength(3);
  const { stdout } = await at.viewer.run(`backend show ${two.id}`);
  expect(stdout).toContain(
    `swarm          ${swarm}, node n2\nmanager        host-1 (${one.id.slice(0, 8)}, site fra), active, the leader\n`,
  );
});

it('writes the kit into the files that its command names', async () => {
  const { id } = await create('--transport', 'sdk');
  const dir = join(at.admin.home.dir, 'kit');
  const { exit, stdout } = await at.admin.run(['kit', id, '--output', dir]);
  expect(exit).toBe(0);
  const named = [...stdout.matchAll(/--(?:bootstrap-file|identity-jwt|secretstore-ca) (\S+)/g)].map(
    ([, name]) => name!,
  );
  expect(named).toEqual(['bootstrap.jwt', 'mesh-enrolment.jwt']);
  for (const name of named) await access(join(dir, name));
  expect(await readFile(join(dir, 'bootstrap.jwt'), 'utf8')).toMatch(/^ey[\w-]+\.[\w-]+\.[\w-]+\n$/);
  expect(await at.viewer.json(`backend show ${id}`)).toMatchObject({ state: 'invited', generation: 1 });
});

it.each([
  ['backend show 1', 1],
  [`backend show ${randomUUID()}`, 1],
  [`kit ${randomUUID()} --show`, 1],
  [`retire ${randomUUID()} --confirm`, 1],
  [`reports ${randomUUID()}`, 1],
  ['backend create --env eu-1', 2],
  ['backend create --env eu-1 --site x --transport pigeon', 2],
  ['backend create --env us-1 --site x', 1],
  ['backend list --state gone', 2],
  ['backend list --limit 0', 2],
] as const)('`%s` ends with %i', async (command, exit) => {
  expect(await at.admin.run(command)).toMatchObject({ exit, stdout: '', stderr: expect.stringMatching(/./) as string });
});

it('labels a backend, when it is created and later', async () => {
  const { id, ...created } = await create('--label', 'ring=canary', '--label', 'disk=ssd');
  expect(created).toMatchObject({ labels: { ring: 'canary', disk: 'ssd' } });
  expect((await at.viewer.run(`backend show ${id}`)).stdout).toMatch(/^labels {9}ring=canary disk=ssd$/m);
  expect(await at.admin.json(`backend label ${id} ring=late`)).toMatchObject({ labels: { ring: 'late' } });
  expect(await at.admin.run(`backend label ${id} ring`)).toMatchObject({ exit: 2 });
});
