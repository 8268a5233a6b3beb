import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../../../fixtures/wait.ts';
import type { Settings } from '../../config/settings.ts';
import { createRedactor } from '../../secrets/redact.ts';
import { createCompose, type Compose } from './compose.ts';
import { limitsOf, type Limits } from './rlimits.ts';

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'compose-'))));
afterEach(() => rm(dir, { recursive: true }));

const never = new AbortController().signal;

/** The adapter over a compose that is this script. */
async function composeOf(script: string, limits?: Limits): Promise<Compose> {
  const program = join(dir, 'compose');
  await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const settings = {
    state_dir: dir,
    env: 'eu-1',
    compose: program,
    container_host: 'unix:///x',
    up_timeout_s: 60,
  } as Settings;
  return createCompose(settings, 'deployd-eu-1', { redactor: () => createRedactor(['hunter2-secret']), limits });
}

/** The model that a compose gives which does this when it is asked for it. */
async function modelFrom(script: string): Promise<unknown> {
  const compose = await composeOf(
    `case "$*" in *version*) echo 2.26.1; exit;; esac\necho "$*" >${dir}/asked\n${script}`,
  );
  return compose.model({ dir, files: ['a.yaml', 'b.yaml'] }, never);
}

describe('a compose that cannot be started', () => {
  it('is not supported', async () => {
    await writeFile(join(dir, 'plain'), '', { mode: 0o644 });
    const settings = { state_dir: dir, env: 'eu-1', compose: join(dir, 'plain') } as Settings;
    const compose = createCompose(settings, 'deployd-eu-1', { redactor: () => createRedactor([]) });
    const why = `but ${dir}/plain cannot be started (EACCES)`;
    await expect(compose.probe(never)).rejects.toMatchObject({
      code: 'COMPOSE_UNSUPPORTED',
      message: expect.stringContaining(why) as string,
    });
  });

  it('fails its step by what the system says, and refuses no bundle', async () => {
    const compose = await composeOf('echo 2.26.1');
    const release = { dir: join(dir, 'compose'), files: [] };
    await expect(compose.up(release, null, never)).rejects.toMatchObject({
      code: 'UP_FAILED',
      message: 'failed: docker compose up failed (rc=127): it cannot be started (ENOTDIR)',
    });
    await expect(compose.model(release, never)).rejects.toMatchObject({
      ending: 'failed',
      code: 'COMPOSE_UNSUPPORTED',
    });
  });
});

describe('the rendered model (spec §12.2)', () => {
  it('is asked for with every profile and comes with real values, which the redactor never meets', async () => {
    const model = await modelFrom(`echo '{"services": {"web": {"user": "hunter2-secret"}}}'`);
    expect(model).toEqual({ services: { web: { user: 'hunter2-secret' } } });
    expect(await readFile(join(dir, 'asked'), 'utf8')).toMatch(
      /-p deployd-eu-1 --project-directory (\S+) -f \1\/a\.yaml -f \1\/b\.yaml config --format json\n$/,
    );
    expect(await readFile(join(dir, 'asked'), 'utf8')).toContain('--profile *');
  });

  it.each([
    [
      'compose fails, by its last line, redacted',
      'echo one >&2; echo no hunter2-secret >&2; exit 15',
      'rc=15: no [REDACTED]',
    ],
    ['there is no JSON, which is not quoted', "echo 'hunter2-secret {'", 'the model is no JSON'],
    ['it is endless', 'head -c 40000000 /dev/zero', 'the model is bigger than 32 MiB'],
  ])('is refused where %s', async (_title, script, why) => {
    await expect(modelFrom(script)).rejects.toMatchObject({
      ending: 'refused',
      code: 'COMPOSE_REFUSED',
      message: `refused: COMPOSE_REFUSED: docker compose config cannot read the bundle: ${why}`,
    });
  });
});

describe('limits of every compose (spec §12.1)', () => {
  const limits = { cpu_s: 1, memory_bytes: 300 * 1024 * 1024 };
  const answering = (script: string) =>
    composeOf(`case "$*" in *version*) echo 2.26.1; exit;; esac\n${script}`, limits);
  const release = () => ({ dir, files: ['a.yaml'] });

  it('are its own, and its arguments the same as without', async () => {
    const compose = await answering(`tr '\\0' ' ' </proc/$$/cmdline >${dir}/argv; echo "[$(ulimit -t), $(ulimit -d)]"`);
    expect(await compose.model(release(), never)).toEqual([1, 300 * 1024]);
    expect(await readFile(join(dir, 'argv'), 'utf8')).toMatch(
      /^\/bin\/sh \S+\/compose --ansi never .* -p deployd-eu-1 /,
    );
  });

  it('end one that computes without end, which tells so', async () => {
    const compose = await answering('while :; do :; done');
    await expect(compose.model(release(), never)).rejects.toMatchObject({
      code: 'COMPOSE_REFUSED',
      message:
        'refused: COMPOSE_REFUSED: docker compose config cannot read the bundle: it reached its limit of 1 s of CPU time; make the bundle smaller',
    });
    await expect(compose.up(release(), null, never)).rejects.toMatchObject({
      code: 'UP_FAILED',
      message:
        'failed: docker compose up failed (rc=137): it reached its limit of 1 s of CPU time; make the bundle smaller',
    });
  });

  it.each([
    'fatal error: runtime: out of memory',
    'runtime/cgo: pthread_create failed: Resource temporarily unavailable',
  ])('tell that its memory did not suffice, however long its trace: %s', async (words) => {
    const compose = await answering(`echo '${words}' >&2; head -c 100000 /dev/zero >&2; exit 2`);
    await expect(compose.up(release(), null, never)).rejects.toMatchObject({
      message:
        'failed: docker compose up failed (rc=2): it reached its limit of 300 MiB of memory; make the bundle smaller',
    });
  });

  it('leave a compose recognizable as one that a killed tick left', async () => {
    const compose = await answering(`touch ${dir}/at-work; while :; do sleep 1; done`);
    const rendering = expect(compose.model(release(), never)).rejects.toMatchObject({ code: 'COMPOSE_REFUSED' });
    await until('compose works', async () => existsSync(join(dir, 'at-work')));
    expect(await compose.sweep()).toBe(true);
    await rendering;
  });

  it('leave half of a small host’s memory, and four gigabytes of a big one’s', () => {
    const GiB = 1024 ** 3;
    expect([GiB / 2, 2 * GiB, 64 * GiB].map((total) => limitsOf(total).memory_bytes)).toEqual([GiB / 2, GiB, 4 * GiB]);
  });
});

describe('the look for compose', () => {
  it('is one for all who ask, until it is forgotten', async () => {
    const looks = join(dir, 'looks');
    const compose = await composeOf(`echo >>${looks}; echo 2.26.1`);
    await Promise.all([compose.probe(never), compose.probe(never)]);
    expect(await readFile(looks, 'utf8')).toBe('\n');
    await compose.forget();
    await compose.probe(never);
    expect(await readFile(looks, 'utf8')).toBe('\n\n');
  });

  it('leaves no program where it is forgotten before its end', async () => {
    const pid = join(dir, 'pid');
    const compose = await composeOf(`echo $$ >${pid}; exec sleep 1000`);
    const looking = expect(compose.probe(never)).rejects.toMatchObject({ ending: 'stopped' });
    await until('compose is asked', async () => (await readFile(pid, 'utf8')) !== '');
    await compose.forget();
    await looking;
    expect(existsSync(`/proc/${(await readFile(pid, 'utf8')).trim()}`)).toBe(false);
  });
});
