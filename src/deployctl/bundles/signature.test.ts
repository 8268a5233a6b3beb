import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createBundle } from '../../../fixtures/world/bundles/bundle.ts';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { newSigningKey, signBundle } from '../../../fixtures/world/signatures/signBundle.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { addOperator } from '../../../fixtures/world/tenancy/operatorClient.ts';
import { keyName } from '../../signatures/trust.ts';

let at: ServiceWithOperators;
beforeAll(async () => {
  at = await startWithOperators();
  await at.admin.run('env create eu-1');
});
afterAll(() => at.stop());

const dir = tempDir();
const key = newSigningKey();
let sequence = 0;
/** Records at the service whether the hosts of the environment require a signature by the key. */
const demand = async (isDemanded: boolean) => {
  const admin = await addOperator(at.service);
  const trust = { threshold: 1, keys: [key.publicPem], identities: [], root: null };
  await (isDemanded ? admin.call('PUT envs/eu-1/trust', trust) : admin.call('DELETE envs/eu-1/trust'));
};
afterEach(() => demand(false));

/** Writes a bundle and its signature. */
async function signedBundle() {
  const secrets = [{ var: 'DB', path: 'deployd/data/eu-1/see/db', field: 'value' }];
  const compose = { services: { web: { image: 'app:1', environment: { DB: '${DB}' } } } };
  const { bytes, sha } = createBundle({ env: 'eu-1', version: '1', sequence: ++sequence, secrets, compose });
  const [file, signature] = [join(dir, `${sequence}.tar.gz`), join(dir, `${sequence}.sigstore.json`)];
  await writeFile(file, bytes);
  await writeFile(
    signature,
    JSON.stringify(signBundle(sha, { name: 'shop', env: 'eu-1', version: '1', sequence }, key)),
  );
  return { file, signature, sha, short: sha.slice(0, 12) };
}

it('shows after the push what completes a bundle, until it is desired', async () => {
  await demand(true);
  const { file, signature, sha, short } = await signedBundle();
  const steps = (prefix: string, archive: string) => [
    `${prefix}deployctl bundle sign ${archive} --key KEY`,
    `${prefix}deployctl signature add ${short} ${archive}.sigstore.json`,
    `${prefix}deployctl promote eu-1 ${short}`,
  ];
  const pushed = await at.deployer.run(['push', file]);
  expect(pushed.stdout.split('\n')).toEqual(
    expect.arrayContaining(['signature  awaiting signature', ...steps('next       ', file)]),
  );
  const refused = await at.deployer.run(['promote', 'eu-1', short]);
  expect(refused).toMatchObject({ exit: 1, stdout: '' });
  expect(refused.stderr.split('\n')).toEqual([
    'deployctl: SIGNATURE_AWAITED: the hosts of eu-1 require more signatures: no trusted signer has signed the bundle',
    `  → deployctl bundle fetch ${short} --out ${short}.tar.gz`,
    ...steps('  → ', `${short}.tar.gz`),
    '',
  ]);
  expect((await at.viewer.run('env show eu-1')).stdout).toContain(
    `trust       1 signature required, from 1 trusted signer\ncompared    signers\nnewest      ${sha}, awaiting signature, has 0 of 1\n`,
  );
  const { stdout } = await at.deployer.run(['signature', 'add', short, signature, signature]);
  expect(stdout).toContain(`sha256     ${sha}\nsignature  signed\nsigner     ${keyName(key.hint)}\n`);
  expect((await at.deployer.run(['promote', 'eu-1', short])).stdout).toContain(
    `signatures  signed by ${keyName(key.hint)}\n`,
  );
  expect((await at.viewer.run(['bundle', 'show', short])).stdout).toContain(`signer      ${keyName(key.hint)}\n`);
  const table = (await at.viewer.run(['signature', 'list', short])).stdout.split('\n').map((row) => row.split(/ {2,}/));
  expect(table).toEqual([
    ['SHA256', 'SIGNER', 'AGE', 'FROM'],
    [expect.stringMatching(/^[0-9a-f]{12}$/), keyName(key.hint), expect.stringMatching(/^\d+s$/), 'deployer'],
    [''],
  ]);
});

it('a secret makes a bundle that waits, and prints the commands that complete it', async () => {
  const { file, sha } = await signedBundle();
  await at.deployer.run(['push', file]);
  await at.deployer.run(['promote', 'eu-1', sha]);
  await demand(true);
  const { exit, stdout } = await at.deployer.run('secret set eu-1 db', { env: at.deployer.home.env, stdin: 'x' });
  const made = /^bundle {3}(\w{12})\w{52}, sequence 3, awaits a signature before it can be desired$/m.exec(stdout)?.[1];
  expect([exit, stdout.split('\n').filter((line) => line.startsWith('next'))]).toEqual([
    0,
    [
      `next     deployctl bundle fetch ${made} --out ${made}.tar.gz`,
      `next     deployctl bundle sign ${made}.tar.gz --key KEY --previous ${sha.slice(0, 12)}`,
      `next     deployctl signature add ${made} ${made}.tar.gz.sigstore.json`,
      `next     deployctl promote eu-1 ${made}`,
    ],
  ]);
  expect(await at.viewer.json('env show eu-1')).toMatchObject({ desired_sha: sha });
  sequence = 3;
});

it('a push takes signatures along', async () => {
  await demand(true);
  const { file, signature } = await signedBundle();
  expect(await at.deployer.json(['push', file, '--signature', signature])).toMatchObject({
    signature: 'signed',
    signers: [keyName(key.hint)],
    warnings: [],
  });
});

it('mentions no signatures if none are required', async () => {
  const { file, sha } = await signedBundle();
  for (const command of [
    ['push', file],
    ['bundle', 'show', sha],
    ['env', 'show', 'eu-1'],
  ]) {
    expect((await at.deployer.run(command)).stdout).not.toMatch(/sign|trust|next/);
  }
});

describe('a file that is not a signature', () => {
  it.each([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['a field twice', '{"a": 1, "a": 2}'],
    ['too long', ' '.repeat(300_000)],
    ['missing', null],
  ])('%s is wrong usage, and nothing is sent', async (name, text) => {
    const { file, sha } = await signedBundle();
    const bad = join(dir, `bad ${name}`);
    if (text !== null) await writeFile(bad, text);
    for (const command of [
      ['signature', 'add', sha, bad],
      ['push', file, '--signature', bad],
    ]) {
      const env = { ...at.deployer.home.env, DEPLOYCTL_URL: 'https://127.0.0.1:1' };
      const outcome = await deployctl(command, { env });
      expect(outcome).toMatchObject({ exit: 2, stderr: expect.stringContaining('SIGNATURE_INVALID: ') as string });
    }
  });

  it('is reported by the service, with the reason', async () => {
    const [first, second] = [await signedBundle(), await signedBundle()];
    await at.deployer.run(['push', first.file]);
    const outcome = await at.deployer.run(['signature', 'add', first.sha, second.signature]);
    expect(outcome).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining('SIGNATURE_REFUSED: it is of another archive') as string,
    });
  });
});
