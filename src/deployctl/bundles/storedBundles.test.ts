import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createBundle } from '../../../fixtures/world/bundles/bundle.ts';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { addHost } from '../../../fixtures/world/tenancy/host.ts';

let at: ServiceWithOperators;
beforeAll(async () => {
  at = await startWithOperators();
  for (const env of ['eu-1', 'us-1']) await at.admin.run(`env create ${env}`);
});
afterAll(() => at.stop());

const dir = tempDir();
/** Pushes a bundle; its file, digest and size. */
async function pushed(env: string, sequence: number, variables: Record<string, string> = {}) {
  const { bytes, sha } = createBundle({ env, sequence, variables, compose: { services: { web: { image: 'app:1' } } } });
  const file = join(dir, `${sha}.tar.gz`);
  await writeFile(file, bytes);
  expect(await at.deployer.json(['push', file])).toMatchObject({ sha256: sha });
  return { file, sha, size: bytes.length };
}

it('lists what the service has, of all envs or of one, and as many as asked for', async () => {
  const eu = await pushed('eu-1', 1);
  const us = await pushed('us-1', 1);
  const { stdout } = await at.viewer.run('bundle list --env eu-1');
  const [head, row, ...more] = stdout.split('\n').map((line) => line.split(/ {2,}/));
  expect(head).toEqual(['SHA256', 'STATE', 'ENV', 'NAME', 'VERSION', 'SEQUENCE', 'BYTES', 'SIGNATURE', 'AGE', 'FROM']);
  expect(row).toEqual([
    eu.sha.slice(0, 12),
    '-',
    'eu-1',
    'shop',
    expect.any(String),
    '1',
    String(eu.size),
    'not required',
    expect.stringMatching(/^\d+s$/),
    'deployer',
  ]);
  expect(more).toEqual([['']]);
  await at.deployer.run(`promote eu-1 ${eu.sha}`);
  expect((await at.viewer.run('bundle list')).stdout).toMatch(
    new RegExp(`^${eu.sha.slice(0, 12)} +desired +eu-1`, 'm'),
  );
  expect((await at.viewer.run('bundle list')).stdout).toMatch(new RegExp(`^${us.sha.slice(0, 12)} +- +us-1`, 'm'));
  const shas = async (command: string, operator = at.viewer) =>
    ((await operator.json(command))['bundles'] as { sha256: string }[]).map(({ sha256 }) => sha256);
  expect((await shas('bundle list')).toSorted()).toEqual([eu.sha, us.sha].toSorted());
  expect(await shas('bundle list --limit 1')).toHaveLength(1);
  expect(await shas('bundle list', at.limited)).toEqual([eu.sha]);
});

it('shows the variables of one, long ones cut and made harmless', async () => {
  const variables = { LEVEL: 'info', LONG: 'x'.repeat(90), LINES: 'a\n\u001b[2J' };
  await at.admin.run('env create ap-1');
  const { sha } = await pushed('ap-1', 1, variables);
  expect(await at.viewer.json(['bundle', 'show', sha])).toMatchObject({ variables });
  const { stdout } = await at.viewer.run(['bundle', 'show', sha]);
  expect(stdout.split('\n').filter((line) => line.startsWith('variable'))).toEqual([
    ...['variable    LEVEL=info', `variable    LONG=${'x'.repeat(79)}…`, 'variable    LINES=a\ufffd\ufffd[2J'],
  ]);
});

it('shows the profiles that one chooses', async () => {
  await at.admin.run('env create ap-2');
  const services = { web: { image: 'app:1' }, debug: { image: 'app:1', profiles: ['debug', 'tools'] } };
  const { bytes, sha } = createBundle({
    env: 'ap-2',
    manifest: { profiles: ['debug', 'tools'] },
    compose: { services },
  });
  await writeFile(join(dir, 'profiles.tar.gz'), bytes);
  await at.deployer.json(['push', join(dir, 'profiles.tar.gz')]);
  expect(await at.viewer.json(['bundle', 'show', sha])).toMatchObject({ profiles: ['debug', 'tools'] });
  expect((await at.viewer.run(['bundle', 'show', sha])).stdout).toMatch(/^profiles {4}debug, tools$/m);
});

it('shows one by its digest, or how that begins', async () => {
  const { sha, size } = await pushed('eu-1', 2);
  const shown = await at.viewer.json(['bundle', 'show', sha]);
  expect(shown).toMatchObject({ sha256: sha, env: 'eu-1', name: 'shop', sequence: 2, size_bytes: size });
  const { stdout } = await at.viewer.run(['bundle', 'show', sha.slice(0, 12)]);
  expect(stdout).toMatch(
    new RegExp(
      `^bundle {6}shop .*, sequence 2, for environment eu-1\nsha256 {6}${sha}\nbytes {7}${size}\nproduction {2}no\n`,
    ),
  );
  expect(stdout).toMatch(/^received {4}\S+ \(\d+s ago\) from deployer$/m);
});

it.each([
  [`bundle show ${'0'.repeat(64)}`, 1, 'BUNDLE_NOT_FOUND'],
  ['bundle show 00000000', 1, 'BUNDLE_NOT_FOUND: no bundle begins with 00000000'],
  ['bundle show 0000000', 2, 'SHA_INVALID'],
  ['bundle list --env Eu_1', 2, ''],
] as const)('`%s` ends with %i', async (command, exit, code) => {
  const outcome = await at.viewer.run(command);
  expect(outcome).toMatchObject({ exit, stdout: '', stderr: expect.stringContaining(`deployctl: ${code}`) as string });
});

it('compares two by their digests, also of two envs, and one with an archive', async () => {
  for (const env of ['ap-3', 'ap-4']) await at.admin.run(`env create ${env}`);
  const compose = (password: string) => ({
    services: { web: { image: 'app:1', environment: { PASSWORD: password } } },
  });
  const shopOf = async (env: string, sequence: number) => {
    const { bytes, sha } = createBundle({ env, sequence, compose: compose(`hunter${sequence}`) });
    const file = join(dir, `${sha}.tar.gz`);
    await writeFile(file, bytes);
    await at.deployer.json(['push', file]);
    return { file, sha };
  };
  const [before, after, other] = [await shopOf('ap-3', 1), await shopOf('ap-3', 2), await shopOf('ap-4', 3)];
  const changes = async (...places: [string, string]) => {
    const { stdout } = await at.viewer.run(['bundle', 'diff', ...places]);
    return stdout.split('\n').flatMap((line) => /~ environment.*/.exec(line) ?? []);
  };
  expect(await changes(before.sha.slice(0, 12), after.sha)).toEqual(['~ environment.PASSWORD: (not shown)']);
  expect(await changes(before.sha, other.sha)).toEqual(['~ environment.PASSWORD: hunter1 → hunter3']);
  expect(await changes(before.file, after.sha.slice(0, 12))).toEqual(['~ environment.PASSWORD: hunter1 → hunter2']);
  const { exit, stderr } = await at.viewer.run(['bundle', 'diff', before.sha, '0'.repeat(64)]);
  expect([exit, stderr]).toEqual([1, expect.stringContaining('deployctl: BUNDLE_NOT_FOUND')]);
});

it('a push lists the hosts that would refuse the bundle by their limits', async () => {
  const host = await addHost(at.service, 'us-1');
  const limits = { bundle_bytes: 1, unpacked_bytes: 1, bundle_entries: 1 };
  await host.checkIn({ policy: { limits } });
  const { file, size } = await pushed('us-1', 2);
  const { exit, stdout } = await at.deployer.run(['push', file]);
  expect(exit).toBe(0);
  expect(stdout).toContain(
    `\nwarning  BUNDLE_UNSAFE: ${size} bytes, limits.bundle_bytes allows 1: refused by host-1 (${host.id})\n`,
  );
});
