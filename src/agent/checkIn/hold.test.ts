import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { createPublicCopy, needsRoot, nobodyUid, testIf } from '../../../fixtures/world/users.ts';
import { ownRecord } from '../state/lock.ts';
import { hold, showHold, unhold } from './hold.ts';

let state_dir: string;
let results: string[];
let errors: string[];
beforeEach(() => {
  state_dir = tempDir();
  [results, errors] = [[], []];
});

const out = { log: (line: string) => void results.push(line), error: (line: string) => void errors.push(line) };
const make = (until?: string, reason = '') => hold({ state_dir }, { until, reason, by: 'kim' }, out);

it('holds for a day, shows the hold, and ends it', async () => {
  expect(await showHold({ state_dir }, out)).toBe(1);
  expect(await make(undefined, 'disk swap')).toBe(0);
  expect(await showHold({ state_dir }, out)).toBe(0);
  const { until, by } = JSON.parse(await readFile(join(state_dir, 'hold.json'), 'utf8')) as {
    until: string;
    by: string;
  };
  expect(by).toBe('kim');
  expect(Math.abs(Date.parse(until) - Date.now() - 86_400_000)).toBeLessThan(60_000);
  expect([await unhold({ state_dir }, out), await unhold({ state_dir }, out)]).toEqual([0, 0]);
  expect(results).toEqual([
    'no hold',
    `held until ${until}; sooner: sudo deployd unhold`,
    expect.stringMatching(`^held until ${until}, since .*Z, by kim: disk swap$`),
    'the hold is over: the next tick does what waits',
    'there was no hold',
  ]);
});

it('replaces a hold, and a damaged one', async () => {
  await writeFile(join(state_dir, 'hold.json'), '{');
  expect(await make('2h')).toBe(0);
  expect(await make('1h', 'again')).toBe(0);
  await showHold({ state_dir }, out);
  expect(results.at(-1)).toMatch(/: again$/);
});

it.each([
  ['8d', '', '--until 8d is more than 7 days away, the longest that a hold lasts'],
  ['soon', '', '--until soon must be like 90m, 12h, 3d, 18:30, 2026-11-27T08:00 or 2026-11-27T08:00Z'],
  ['', '', "--until '' must be like 90m, 12h, 3d, 18:30, 2026-11-27T08:00 or 2026-11-27T08:00Z"],
  [undefined, 'a\nb', 'the reason must be one line of at most 200 characters'],
])('refuses --until %s with the reason %j', async (until, reason, error) => {
  expect(await make(until, reason)).toBe(1);
  expect([errors, await showHold({ state_dir }, out)]).toEqual([[error], 1]);
});

it('reports that a running tick is not affected', async () => {
  await writeFile(join(state_dir, 'lock'), JSON.stringify(ownRecord()));
  expect(await make('1h')).toBe(0);
  expect(results[1]).toBe(
    `a tick is at work (pid ${process.pid}): it ends as it began, the hold counts from the next one on`,
  );
});

it('shows why a hold cannot be read', async () => {
  await mkdir(join(state_dir, 'hold.json'));
  expect(await showHold({ state_dir }, out)).toBe(1);
  expect(errors[0]).toContain('hold.json');
});

it('ends a hold that no tick can read', async () => {
  execFileSync('mkfifo', [join(state_dir, 'hold.json')]);
  expect([await showHold({ state_dir }, out), await unhold({ state_dir }, out)]).toEqual([1, 0]);
  expect(errors[0]).toContain('it is not a regular file');
  expect(await showHold({ state_dir }, out)).toBe(1);
  expect(results).toEqual(['the hold is over: the next tick does what waits', 'no hold']);
});

testIf(needsRoot, 'is refused to a user who does not own the state directory', async () => {
  await mkdir(join(state_dir, 'state'), { mode: 0o700 });
  const config = join(state_dir, 'config.yaml');
  await writeFile(config, configText());
  await chmod(state_dir, 0o755);
  const publicCopy = createPublicCopy();
  const program = join(publicCopy.dir, 'dist', 'deployd.cjs');
  const run = (...args: string[]) =>
    spawnSync(publicCopy.node, [program, ...args, '--config', config], { encoding: 'utf8', uid: nobodyUid, cwd: '/' });
  for (const { status, stderr } of [run('hold', 'mine'), run('unhold')]) {
    expect(status).toBe(78);
    expect(stderr).toMatch(/^deployd runs as root \(owner of .*\), not as nobody: use sudo, or become that user/);
  }
  publicCopy.remove();
});

it.each([
  ['who has called sudo', { SUDO_USER: 'kim' }, 'kim'],
  ['its user without sudo', {}, userInfo().username],
  ['nobody where the name is no line', { SUDO_USER: 'a\nb' }, undefined],
])('the program keeps the login name: %s', async (_, more, by) => {
  await mkdir(join(state_dir, 'state'), { mode: 0o700 });
  const config = join(state_dir, 'config.yaml');
  await writeFile(config, configText());
  const env = { ...process.env, SUDO_USER: undefined, ...more };
  const program = join(import.meta.dirname, '..', '..', '..', 'dist', 'deployd.cjs');
  execFileSync(process.execPath, [program, 'hold', '--config', config], { env });
  const hold = JSON.parse(await readFile(join(state_dir, 'state', 'hold.json'), 'utf8')) as { by?: string };
  expect(hold.by).toBe(by);
});

function configText(): string {
  return JSON.stringify({
    ...{ env: 'eu-1', site: 'berlin', transport: 'system', state_dir: join(state_dir, 'state') },
    ...{ tenancy_url: 'https://tenancy.example', secretstore_url: 'https://secretstore.example' },
  });
}
