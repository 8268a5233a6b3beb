import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../../fixtures/world/tempDir.ts';
import { tenancyProgram } from '../../fixtures/world/tenancy/servingProcess.ts';
import { program } from './cli.ts';

let dir: string;
let config: string;
beforeEach(() => {
  dir = tempDir();
  config = join(dir, 'config.yaml');
  const lines = ['public_url: https://tenancy.example', 'secretstore_url: https://bao.example'];
  writeFileSync(config, [...lines, `state_dir: ${join(dir, 'state dir')}`].join('\n'));
});

function run(...args: string[]) {
  const [node = '', ...program] = tenancyProgram;
  const { status, stdout, stderr } = spawnSync(node, [...program, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

it('init creates the state directory, and prints a failure on one line with exit code 1', () => {
  const first = run('init', '--config', config);
  expect(first).toMatchObject({ status: 0, stdout: expect.stringMatching(/^dpo_[\w-]{43}\n$/) as string });
  expect(statSync(join(dir, 'state dir')).mode & 0o777).toBe(0o700);
  const second = run('init', '--config', config);
  expect(second).toMatchObject({ status: 1, stdout: '' });
  expect(second.stderr).toMatch(/^the store is already initialized.*\n$/);
  const file = join(dir, 'missing', 'backup');
  expect(run('backup', file, '--config', config)).toMatchObject({
    status: 1,
    stderr: expect.stringContaining(`ENOENT`) as string,
  });
});

it('keys show prints the public keys of the secretstore, and exits with 2 if the secretstore is unreachable', () => {
  run('init', '--config', config);
  const { status, stdout } = run('keys', 'show', '--config', config);
  expect({ status, stdout }).toMatchObject({
    status: 0,
    stdout: expect.stringMatching(/^-----BEGIN PUBLIC KEY/) as string,
  });
  const [keys, token] = ['keys.pem', 'token'].map((name) => join(dir, name)) as [string, string];
  writeFileSync(keys, 'x');
  const plan = () => run('secretstore', 'plan', '--public-keys', keys, '--token-file', token, '--config', config);
  expect(plan()).toEqual({ status: 78, stdout: '', stderr: `CONFIG_INVALID: ${keys}: must hold public keys in PEM\n` });
  writeFileSync(keys, stdout);
  expect(plan()).toEqual({ status: 2, stdout: '', stderr: `${token} cannot be read (ENOENT)\n` });
  writeFileSync(token, 't');
  expect(plan()).toMatchObject({
    status: 2,
    stderr: expect.stringMatching(/^secretstore: read of sys\/mounts: /) as string,
  });
});

it('prints all faults of an invalid configuration, and exits with 78', () => {
  writeFileSync(config, 'lisen: 1\n');
  expect(run('migrate', '--config', config)).toEqual({
    status: 78,
    stdout: '',
    stderr: [
      `CONFIG_INVALID: ${config}:1: lisen: unknown key; the nearest known key is listen`,
      ...['public_url', 'secretstore_url'].map(
        (key) =>
          `CONFIG_INVALID: ${config}: ${key}: is required; must be an https:// URL without credentials, query and fragment`,
      ),
      '',
    ].join('\n'),
  });
});

it('names the command that creates a missing state directory', () => {
  const { status, stderr } = run('migrate', '--config', config);
  expect({ status, stderr }).toEqual({
    status: 78,
    stderr: expect.stringMatching(
      /state dir does not exist; to make it: sudo install -d -m 0700 -o deployd-tenancy/,
    ) as string,
  });
});

it('every command has a description, and takes --config before and after its name', () => {
  const commands = program.commands.flatMap((command) => (command.commands.length > 0 ? command.commands : [command]));
  expect(commands.map((command) => command.description()).filter((text) => text === '')).toEqual([]);
  for (const command of [program, ...commands]) expect(command.options.map(({ long }) => long)).toContain('--config');
});
