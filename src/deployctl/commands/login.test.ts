import { existsSync, openSync } from 'node:fs';
import { appendFile, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { strangeToken } from '../../../fixtures/world/ctl/operatorHome.ts';
import { startScriptedApi } from '../../../fixtures/world/ctl/scriptedApi.ts';

let api: Awaited<ReturnType<typeof startScriptedApi>>;
let dir: string;
let env: Record<string, string>;
beforeEach(async () => {
  api = await startScriptedApi(() => ({ status: 200, body: { name: 'ann', role: 'admin', envs: ['eu-1', 'us-1'] } }));
  env = { HOME: api.home.dir };
  dir = join(api.home.dir, '.config/deployctl');
});
afterEach(() => api.stop());

const login = (stdin: string, ...more: string[]) =>
  deployctl(['login', api.server.url, '--ca-file', join(api.home.dir, 'ca.pem'), ...more], { env, stdin });
const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);

it('stores the token of standard input once the service has accepted it', async () => {
  const { exit, stdout } = await login(`${strangeToken}\n`);
  expect({ exit, stdout }).toEqual({
    exit: 0,
    stdout: `name  ann\nrole  admin\nenvs  eu-1, us-1\nkept in ${dir}/config.yaml\n`,
  });
  expect(await readFile(join(dir, 'token'), 'utf8')).toBe(`${strangeToken}\n`);
  expect(await Promise.all([dir, join(dir, 'token'), join(dir, 'config.yaml')].map(modeOf))).toEqual([
    '700',
    '600',
    '600',
  ]);
  expect(await deployctl(['whoami', '--json'], { env })).toMatchObject({ exit: 0, stderr: '' });
  expect(api.calls).toHaveLength(2);
});

it('stores only the path of a named token file', async () => {
  expect(await login('', '--token-file', api.home.tokenFile)).toMatchObject({ exit: 0 });
  expect(existsSync(join(dir, 'token'))).toBe(false);
  expect(await readFile(join(dir, 'config.yaml'), 'utf8')).toContain(`token_file: "${api.home.tokenFile}"\n`);
  expect(await deployctl(['whoami'], { env })).toMatchObject({ exit: 0 });
});

it('stores the token itself if its path will not exist later', async () => {
  const gone = `/proc/self/fd/${openSync(api.home.tokenFile, 'r')}`;
  expect(await login('', '--token-file', gone)).toMatchObject({ exit: 0 });
  expect(await readFile(join(dir, 'token'), 'utf8')).toBe(`${strangeToken}\n`);
});

it('keeps the Sigstore instance that config.yaml names', async () => {
  const [url, root] = ['https://ca.example', '/etc/deployd/trust/trusted_root.json'];
  await login(strangeToken);
  await appendFile(join(dir, 'config.yaml'), `sigstore:\n  fulcio: ${url}\n  root: ${root}\n`);
  expect(await login(`${strangeToken}\n`)).toMatchObject({ exit: 0 });
  const kept = await readFile(join(dir, 'config.yaml'), 'utf8');
  expect(kept).toContain(`\nsigstore: {"fulcio":"${url}","root":"${root}"}\n`);
});

it('changes nothing if the token is refused', async () => {
  await login(strangeToken);
  const before = await readFile(join(dir, 'config.yaml'), 'utf8');
  await writeFile(join(dir, 'token'), 'the one before');
  api.server.answerNext('call', { status: 401, body: { error: { code: 'OPERATOR_UNAUTHENTICATED', message: 'no' } } });
  expect(await login(strangeToken.replace('a', 'b'))).toMatchObject({ exit: 77 });
  expect(await readFile(join(dir, 'config.yaml'), 'utf8')).toBe(before);
  expect(await readFile(join(dir, 'token'), 'utf8')).toBe('the one before');
});

it('sends nothing that is not a token, and does not print it', async () => {
  const { exit, stdout, stderr } = await login('my password');
  expect({ exit, stdout }).toEqual({ exit: 2, stdout: '' });
  expect(stderr).toContain('TOKEN_UNUSABLE');
  expect(stderr).not.toContain('password');
  expect(api.calls).toEqual([]);
});

it('prompts on a terminal, without echo', async () => {
  const typed = `x\u007f${strangeToken}\rmore`;
  const outcome = await deployctl(['login', api.server.url, '--ca-file', join(api.home.dir, 'ca.pem')], {
    env,
    stdin: typed,
    terminal: 80,
  });
  expect(outcome).toMatchObject({ exit: 0, stderr: 'token: \n' });
  expect(outcome.stdout).not.toContain('dpo_');
});

it('changes nothing after Ctrl-C at the prompt', async () => {
  const outcome = await deployctl(['login', api.server.url], { env, stdin: 'dpo_\u0003', terminal: 80 });
  expect(outcome).toMatchObject({ exit: 1, stdout: '' });
  expect(existsSync(dir)).toBe(false);
});
