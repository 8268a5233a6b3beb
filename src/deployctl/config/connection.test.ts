import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { operatorHome, type OperatorHome, strangeToken } from '../../../fixtures/world/ctl/operatorHome.ts';
import { createCa, unreadableCertificate } from '../../../fixtures/world/servers/crypto/ca.ts';
import { connectionOf, targetOf } from './connection.ts';

const url = 'https://env.example/';

let home: OperatorHome;
beforeEach(async () => {
  home = await operatorHome({ url, token: strangeToken, ca: createCa().pem });
  await mkdir(join(home.dir, '.config/deployctl'), { recursive: true });
});
afterEach(() => home.remove());

const writeConfig = (text: string) => writeFile(join(home.dir, '.config/deployctl/config.yaml'), text);
const without = (...names: string[]) =>
  Object.fromEntries(Object.entries(home.env).filter(([name]) => !names.includes(name)));

const ioOf = (env: Record<string, string>) => ({ env, stdin: new PassThrough(), stderr: new PassThrough() });

it('takes each value from the command line, otherwise the environment, otherwise config.yaml', async () => {
  await writeConfig('url: https://file.example\ntoken_file: /file\nca_file: /file-ca\n');
  const options = { url: 'https://line.example', tokenFile: '/line', caFile: '/line-ca' };
  expect(targetOf(options, home.env)).toMatchObject({
    url: new URL(options.url),
    tokenFile: '/line',
    caFile: '/line-ca',
  });
  expect(targetOf({}, home.env)).toMatchObject({ url: new URL(url), tokenFile: home.tokenFile });
  const file = { url: new URL('https://file.example'), tokenFile: '/file', caFile: '/file-ca' };
  expect(targetOf({}, { HOME: home.dir })).toEqual(file);
});

it('looks for config.yaml in the XDG directory', async () => {
  await mkdir(join(home.dir, 'xdg/deployctl'), { recursive: true });
  await writeFile(join(home.dir, 'xdg/deployctl/config.yaml'), 'url: https://xdg.example');
  expect(targetOf({}, { HOME: home.dir, XDG_CONFIG_HOME: join(home.dir, 'xdg') }).url.host).toBe('xdg.example');
});

it('connects with the token of the file, and trusts the system by default', async () => {
  expect(await connectionOf({}, ioOf(home.env))).toMatchObject({ url: new URL(url), token: strangeToken });
  expect(await connectionOf({}, ioOf(without('DEPLOYCTL_CA_FILE')))).toMatchObject({ token: strangeToken });
});

describe('the token may come from', () => {
  const tokenOf = async (tokenFile: string, env: Record<string, string> = {}, stdin = '') => {
    const io = ioOf({ ...home.env, ...env });
    io.stdin.end(stdin);
    return (await connectionOf({ tokenFile }, io)).token;
  };

  it('standard input', async () => {
    expect(await tokenOf('-', {}, `${strangeToken}\r\n`)).toBe(strangeToken);
  });

  it('a pipe, in parts', async () => {
    const fifo = join(home.dir, 'fifo');
    execFileSync('mkfifo', ['-m', '600', fifo]);
    const script = 'for part in "${1%????}" "${1#"${1%????}"}"; do printf %s "$part"; done > "$2"';
    const writer = spawn('sh', ['-c', script, 'sh', strangeToken, fifo]);
    const [token] = await Promise.all([tokenOf(fifo), once(writer, 'exit')]);
    expect(token).toBe(strangeToken);
  });

  it('a file variable of a runner, which every user may read', async () => {
    await chmod(home.tokenFile, 0o666);
    expect(await tokenOf(home.tokenFile, { CI: 'true' })).toBe(strangeToken);
    await expect(tokenOf(home.tokenFile, { CI: 'false' })).rejects.toThrow('may be read by others');
  });

  it('standard input only once', async () => {
    const args = ['--token-file', '-', 'secret', 'set', 'eu-1', 'db', '--field', 'password'];
    const outcome = await deployctl(args, { env: home.env, stdin: strangeToken });
    expect(outcome).toMatchObject({ exit: 2, stdout: '', stderr: expect.stringContaining('INPUT_TAKEN') as string });
  });
});

describe('exits with 2 and sends nothing:', () => {
  const run = (env: Record<string, string>, ...args: string[]) => deployctl(['whoami', ...args], { env });

  it.each([
    [
      'no url',
      ['DEPLOYCTL_URL'],
      'URL_MISSING: no tenancy service is named\n  → `deployctl login`, --url or DEPLOYCTL_URL',
    ],
    [
      'no token',
      ['DEPLOYCTL_TOKEN_FILE'],
      'TOKEN_MISSING: no token file is named\n  → `deployctl login`, --token-file or DEPLOYCTL_TOKEN_FILE',
    ],
  ])('%s', async (_name, missing, text) => {
    const { exit, stderr } = await run(without(...missing));
    expect({ exit, stderr }).toEqual({ exit: 2, stderr: expect.stringContaining(text) as string });
  });

  it.each(['', 'tenancy.example', 'ftp://x', 'https://me:secret@x', 'https://x/?a=b', 'https://x#y', 'https://'])(
    'the address %j, which is not printed',
    async (bad) => {
      const toldOf = (source: string) =>
        `URL_INVALID: the address of the tenancy service (${source}) is not an https:// URL without credentials, query and fragment\n`;
      const byOption = await run(home.env, '--url', bad);
      expect(byOption).toMatchObject({ exit: 2, stderr: expect.stringContaining(toldOf('--url')) as string });
      const byVariable = await run({ ...home.env, DEPLOYCTL_URL: bad });
      expect(byVariable).toMatchObject({ exit: 2, stderr: expect.stringContaining(toldOf('DEPLOYCTL_URL')) as string });
    },
  );

  it('an address that would send the token unencrypted', async () => {
    const { exit, stderr } = await run(home.env, '--url', 'http://tenancy.example');
    expect({ exit, stderr }).toEqual({ exit: 2, stderr: expect.stringMatching(/URL_INVALID: .* in clear/) as string });
  });

  it.each([0o640, 0o604, 0o660])('a token file of mode %o', async (mode) => {
    await chmod(home.tokenFile, mode);
    const { exit, stderr } = await run(home.env);
    const told = `deployctl: TOKEN_UNUSABLE: ${home.tokenFile} may be read by others\n  → chmod 600 ${home.tokenFile}\n`;
    expect({ exit, stderr }).toEqual({ exit: 2, stderr: told });
  });

  it.each(['', 'hunter2', strangeToken.slice(1), `${strangeToken}x`, `${strangeToken}\n${strangeToken}`])(
    'a token file with %j, which is not printed',
    async (text) => {
      await writeFile(home.tokenFile, text);
      const { exit, stderr } = await run(home.env);
      expect(exit).toBe(2);
      expect(stderr).toContain('holds no token of an operator\n  → it is one line that begins with dpo_');
      expect(stderr).not.toMatch(/hunter2|aaaa/);
    },
  );

  it('a token file that is a directory, missing or a device', async () => {
    await rm(home.tokenFile);
    expect((await run(home.env)).stderr).toContain('(ENOENT)');
    await symlink('/dev/zero', home.tokenFile);
    expect((await run(home.env)).stderr).toContain('(ENOTREG)');
    expect((await run(home.env, '--token-file', home.dir)).stderr).toContain('(EISDIR)');
  });

  it.each(['', 'no certificate', unreadableCertificate])('an unreadable certificate authority: %j', async (pem) => {
    await writeFile(home.env['DEPLOYCTL_CA_FILE']!, pem);
    const told = `CA_UNUSABLE: ${home.env['DEPLOYCTL_CA_FILE']} holds no certificate that can be read`;
    expect(await run(home.env)).toMatchObject({ exit: 2, stderr: expect.stringContaining(told) as string });
  });

  it('a missing certificate authority', async () => {
    const { exit, stderr } = await run(home.env, '--ca-file', join(home.dir, 'none.pem'));
    const told = `CA_UNUSABLE: ${home.dir}/none.pem cannot be read (ENOENT)`;
    expect({ exit, stderr }).toEqual({ exit: 2, stderr: expect.stringContaining(told) as string });
  });

  it('a config.yaml with an unknown key, with all faults and their lines', async () => {
    await writeConfig('[]');
    expect((await run(home.env)).stderr).toContain('must hold keys, such as `url: https://tenancy.example`');
    await writeConfig('url: here\ntoken-file: /x\n');
    const { exit, stderr } = await run(home.env);
    expect(exit).toBe(2);
    expect(stderr).toContain('config.yaml:1: url: must be an https:// URL');
    expect(stderr).toContain('config.yaml:2: token-file: unknown key; the nearest known key is token_file');
  });

  it('a config.yaml that is named but missing', async () => {
    const { exit, stderr } = await run(home.env, '--config', join(home.dir, 'none.yaml'));
    expect({ exit, stderr }).toEqual({
      exit: 2,
      stderr: expect.stringContaining('does not exist; write it, or name another file with --config') as string,
    });
  });
});
