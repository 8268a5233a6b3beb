import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createBundle, sha256Of } from '../../../fixtures/world/bundles/bundle.ts';
import { deployctl, sleeplessClock } from '../../../fixtures/world/ctl/deployctl.ts';
import { type ServiceWithOperators, startWithOperators } from '../../../fixtures/world/ctl/operators.ts';
import { startScriptedApi } from '../../../fixtures/world/ctl/scriptedApi.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { addOperator } from '../../../fixtures/world/tenancy/operatorClient.ts';

const dir = tempDir();
const compose = { services: { web: { image: 'app:1' } } };

describe('from the service', () => {
  let at: ServiceWithOperators;
  const { bytes, sha } = createBundle({ env: 'eu-1', compose, files: { zeros: Buffer.alloc(300_000, 'x') } });
  beforeAll(async () => {
    at = await startWithOperators();
    await at.admin.run('env create eu-1');
    await (await addOperator(at.service)).push(bytes);
  });
  afterAll(() => at.stop());

  it('writes the archive as it was pushed, and never over a file', async () => {
    const file = join(dir, 'fetched.tar.gz');
    const command = ['bundle', 'fetch', sha.slice(0, 12), '--out', file];
    expect(await at.viewer.run(command)).toEqual({
      exit: 0,
      stdout: `sha256  ${sha}\nbytes   ${bytes.length}\nfile    ${file}\n`,
      stderr: '',
    });
    expect(await readFile(file)).toEqual(bytes);
    await writeFile(file, 'mine');
    expect(await at.viewer.run(command)).toMatchObject({
      exit: 2,
      stderr: expect.stringContaining('nothing is overwritten') as string,
    });
    expect(await readFile(file, 'utf8')).toBe('mine');
  });

  it.each([
    ['of an unknown bundle', '0'.repeat(64), 'out', 'BUNDLE_NOT_FOUND'],
    ['into no directory', sha, 'absent/out', 'FILE_UNWRITABLE'],
  ])('%s leaves no file', async (_, of, out, code) => {
    const before = await readdir(dir);
    const outcome = await at.viewer.run(['bundle', 'fetch', of, '--out', join(dir, out)]);
    expect(outcome).toMatchObject({ exit: 1, stdout: '', stderr: expect.stringContaining(code) as string });
    expect(await readdir(dir)).toEqual(before);
  });
});

describe('from a service at fault', () => {
  const bytes = Buffer.alloc(200_000, 'y');
  let api: Awaited<ReturnType<typeof startScriptedApi>>;
  beforeEach(async () => {
    api = await startScriptedApi(() => ({
      status: 200,
      body: bytes,
      headers: { 'content-type': 'application/octet-stream' },
    }));
  });
  afterEach(() => api.stop());
  const fetchInto = (file: string, sha: string) =>
    deployctl(['bundle', 'fetch', sha, '--out', file], { env: api.home.env, clock: sleeplessClock() });

  it('an answer that was cut off is fetched again, from its first byte on', async () => {
    api.server.answerNext('call', { cut: 'body' });
    const file = join(dir, 'again');
    expect(await fetchInto(file, sha256Of(bytes))).toMatchObject({ exit: 0, stderr: '' });
    expect([await readFile(file), api.server.requests.length]).toEqual([bytes, 2]);
  });

  it('refuses bytes with another digest, and does not keep them', async () => {
    const before = await readdir(dir);
    expect(await fetchInto(join(dir, 'other'), '1'.repeat(64))).toMatchObject({
      exit: 1,
      stderr: expect.stringContaining(
        `BUNDLE_DIGEST: the bytes that the service sent have the sha256 ${sha256Of(bytes)}`,
      ) as string,
    });
    expect(await readdir(dir)).toEqual(before);
  });
});
