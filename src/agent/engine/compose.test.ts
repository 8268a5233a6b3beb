import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { waitUntil } from '../../../fixtures/world/wait.ts';
import type { Settings } from '../config/configKeys.ts';
import { createRedactor } from '../secrets/redactor.ts';
import { type Compose, createCompose } from './compose.ts';
import { composeLimitsOf, type ResourceLimits } from './programs.ts';

let dir: string;
beforeEach(() => void (dir = tempDir()));

const never = new AbortController().signal;

/** The adapter, with this script instead of compose. */
async function composeOf(script: string, limits?: ResourceLimits): Promise<Compose> {
  const program = join(dir, 'compose');
  await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const settings = {
    state_dir: dir,
    env: 'eu-1',
    compose: program,
    container_host: 'unix:///x',
    up_timeout_s: 60,
    pull_stall_s: 1,
    pull_timeout_s: 60,
  } as Settings;
  return createCompose(settings, 'deployd-eu-1', { redactor: () => createRedactor(['hunter2-secret']), limits });
}

/** The model rendered by a compose that runs this script. */
async function modelFrom(script: string): Promise<unknown> {
  const compose = await composeOf(
    `case "$*" in *version*) echo 2.26.1; exit;; esac\necho "$*" >${dir}/asked\n${script}`,
  );
  return compose.renderModel({ dir, files: ['a.yaml', 'b.yaml'], profiles: ['p', 'q'] }, never);
}

it('pulls an image only by its digest, for the platform of its service, with temporary logins', async () => {
  const compose = await composeOf(
    `case "$*" in *version*) echo 2.26.1; exit;; esac\ncat "$HOME/digest.json" "$HOME/config.json" >${dir}/pulled`,
  );
  const reference = `reg.example/app@sha256:${'a'.repeat(64)}`;
  const login = { host: 'reg.example', username: 'u', password: 'hunter2-secret' };
  await compose.pullDigest({ reference, platform: 'linux/arm64' }, [login], never);
  const auth = Buffer.from('u:hunter2-secret').toString('base64');
  expect(await readFile(join(dir, 'pulled'), 'utf8')).toBe(
    `{"services":{"image":{"image":"${reference}","platform":"linux/arm64"}}}{"auths":{"reg.example":{"auth":"${auth}"}}}`,
  );
  expect(existsSync(join(dir, 'eu-1', 'docker-config'))).toBe(false);
});

describe('a pull', () => {
  const layer = ' 73cbe64c5a73';
  const pullBy = async (script: string, timeoutS = 60) => {
    const compose = await composeOf(`case "$*" in *version*) echo 2.26.1; exit;; esac\n${script}`);
    return compose.pull({ dir, files: ['a.yaml'], profiles: [], services: ['web'], timeoutS }, [], never);
  };

  it.each([
    [
      'nothing arrives for pull_stall_s',
      60,
      'nothing arrived for 1s (pull_stall_s); 1.0 MiB of 2.0 MiB arrived after ',
    ],
    [
      'its time is over',
      0.2,
      'timed out after 60s (pull_timeout_s, for all images together); 1.0 MiB of 2.0 MiB arrived after ',
    ],
  ])('is aborted when %s', async (_when, timeoutS, reason) => {
    const script = `echo '${layer} Downloading [=>  ]  1.049MB/2.097MB' >&2; echo 'no hunter2-secret' >&2; exec sleep 1000`;
    await expect(pullBy(script, timeoutS)).rejects.toMatchObject({
      code: 'PULL_FAILED',
      message: expect.stringContaining(`failed: docker compose pull failed (rc=143): ${reason}`) as string,
      tail: 'no [REDACTED]\n',
    });
  });

  it('continues while data arrives, and while a layer is unpacked', async () => {
    const arrivals = [1, 2, 3].map((part) => `echo '${layer} Downloading ${part}MB' >&2; sleep 0.6`);
    await pullBy(`${arrivals.join('; ')}; echo '${layer} Extracting 1MB' >&2; sleep 1.5`);
  });
});

describe('a compose that cannot be started', () => {
  it('is not supported', async () => {
    await writeFile(join(dir, 'plain'), '', { mode: 0o644 });
    const settings = { state_dir: dir, env: 'eu-1', compose: join(dir, 'plain') } as Settings;
    const compose = createCompose(settings, 'deployd-eu-1', { redactor: () => createRedactor([]) });
    const reason = `but ${dir}/plain cannot be started (EACCES)`;
    await expect(compose.probe(never)).rejects.toMatchObject({
      code: 'COMPOSE_UNSUPPORTED',
      message: expect.stringContaining(reason) as string,
    });
  });

  it('is not supported if Podman gives it names instead of ids', async () => {
    await writeFile(join(dir, 'new'), '#!/bin/sh\necho 2.40.3\n', { mode: 0o755 });
    const settings = { state_dir: dir, env: 'eu-1', compose: join(dir, 'new') } as Settings;
    const options = { redactor: () => createRedactor([]), podmanVersion: async () => '4.3.1' };
    await expect(createCompose(settings, 'deployd-eu-1', options).probe(never)).rejects.toMatchObject({
      code: 'COMPOSE_UNSUPPORTED',
      message: expect.stringContaining(`with Podman 4.3.1, or Podman 5.4 or newer, but ${dir}/new is 2.40.3`) as string,
    });
  });

  it('fails the step with the error code of the system, and refuses no bundle', async () => {
    const compose = await composeOf('echo 2.26.1');
    const release = { dir: join(dir, 'compose'), files: [], profiles: [] };
    await expect(compose.up(release, null, never)).rejects.toMatchObject({
      code: 'UP_FAILED',
      message: 'failed: docker compose up failed (rc=127): it cannot be started (ENOTDIR)',
    });
    await expect(compose.renderModel(release, never)).rejects.toMatchObject({
      ending: 'failed',
      code: 'COMPOSE_UNSUPPORTED',
    });
  });
});

describe('the rendered model (spec §12.2)', () => {
  it('is rendered with the chosen profiles and contains real values, not redacted ones', async () => {
    const model = await modelFrom(`echo '{"services": {"web": {"user": "hunter2-secret"}}}'`);
    expect(model).toEqual({ services: { web: { user: 'hunter2-secret' } } });
    expect(await readFile(join(dir, 'asked'), 'utf8')).toMatch(
      /-p deployd-eu-1 --project-directory (\S+) -f \1\/a\.yaml -f \1\/b\.yaml config --format json\n$/,
    );
    expect(await readFile(join(dir, 'asked'), 'utf8')).toContain('--profile p --profile q ');
  });

  it.each([
    [
      'compose fails, with its last line, redacted',
      'echo one >&2; echo no hunter2-secret >&2; exit 15',
      'rc=15: no [REDACTED]',
    ],
    ['the output is not JSON, which is not quoted', "echo 'hunter2-secret {'", 'the model is not JSON'],
    ['it is larger than 32 MiB', 'head -c 40000000 /dev/zero', 'the model is bigger than 32 MiB'],
  ])('is refused when %s', async (_title, script, reason) => {
    await expect(modelFrom(script)).rejects.toMatchObject({
      ending: 'refused',
      code: 'COMPOSE_REFUSED',
      message: `refused: COMPOSE_REFUSED: docker compose config cannot read the bundle: ${reason}`,
    });
  });
});

describe('resource limits of compose (spec §12.1)', () => {
  const limits = { cpu_s: 1, memory_bytes: 300 * 1024 * 1024 };
  const limitedCompose = (script: string) =>
    composeOf(`case "$*" in *version*) echo 2.26.1; exit;; esac\n${script}`, limits);
  const release = () => ({ dir, files: ['a.yaml'], profiles: [] });

  it('are set in the process itself, whose arguments stay the same', async () => {
    const compose = await limitedCompose(
      `tr '\\0' ' ' </proc/$$/cmdline >${dir}/argv; echo "[$(ulimit -t), $(ulimit -d)]"`,
    );
    expect(await compose.renderModel(release(), never)).toEqual([1, 300 * 1024]);
    expect(await readFile(join(dir, 'argv'), 'utf8')).toMatch(
      /^\/bin\/sh \S+\/compose --ansi never .* -p deployd-eu-1 /,
    );
  });

  it('terminate a compose that computes forever, and are named in the message', async () => {
    const compose = await limitedCompose('while :; do :; done');
    await expect(compose.renderModel(release(), never)).rejects.toMatchObject({
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
  ])('are named when memory is exhausted, however long the stack trace: %s', async (errorText) => {
    const compose = await limitedCompose(`echo '${errorText}' >&2; head -c 100000 /dev/zero >&2; exit 2`);
    await expect(compose.up(release(), null, never)).rejects.toMatchObject({
      message:
        'failed: docker compose up failed (rc=2): it reached its limit of 300 MiB of memory; make the bundle smaller',
    });
  });

  it('keep a compose recognizable as an orphan of a killed tick', async () => {
    const compose = await limitedCompose(`touch ${dir}/at-work; while :; do sleep 1; done`);
    const rendering = expect(compose.renderModel(release(), never)).rejects.toMatchObject({ code: 'COMPOSE_REFUSED' });
    await waitUntil('compose works', async () => existsSync(join(dir, 'at-work')));
    expect(await compose.terminateOrphans()).toBe(true);
    await rendering;
  });

  it('allow half of a small host’s memory, and four gigabytes on a big one', () => {
    const GiB = 1024 ** 3;
    expect([GiB / 2, 2 * GiB, 64 * GiB].map((total) => composeLimitsOf(total).memory_bytes)).toEqual([
      GiB / 2,
      GiB,
      4 * GiB,
    ]);
  });
});

describe('the discovery of compose', () => {
  it('runs once for all callers, until it is reset', async () => {
    const probes = join(dir, 'looks');
    const compose = await composeOf(`echo >>${probes}; echo 2.26.1`);
    await Promise.all([compose.probe(never), compose.probe(never)]);
    expect(await readFile(probes, 'utf8')).toBe('\n');
    await compose.forget();
    await compose.probe(never);
    expect(await readFile(probes, 'utf8')).toBe('\n\n');
  });

  it('leaves no process when it is reset before its end', async () => {
    const pid = join(dir, 'pid');
    const compose = await composeOf(`echo $$ >${pid}; exec sleep 1000`);
    const probing = expect(compose.probe(never)).rejects.toMatchObject({ ending: 'stopped' });
    await waitUntil('compose is asked', async () => (await readFile(pid, 'utf8')) !== '');
    await compose.forget();
    await probing;
    expect(existsSync(`/proc/${(await readFile(pid, 'utf8')).trim()}`)).toBe(false);
  });
});
