import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../../fixtures/wait.ts';
import type { Settings } from '../config/settings.ts';
import { createRedactor } from '../secrets/redact.ts';
import { createCompose, type Compose } from './compose.ts';

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'compose-'))));
afterEach(() => rm(dir, { recursive: true }));

const never = new AbortController().signal;

/** The adapter over a compose that is this script. */
async function composeOf(script: string): Promise<Compose> {
  const program = join(dir, 'compose');
  await writeFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  const settings = { state_dir: dir, env: 'eu-1', compose: program, container_host: 'unix:///x' } as Settings;
  return createCompose(settings, 'deployd-eu-1', () => createRedactor(['hunter2-secret']));
}

/** The model that a compose gives which does this when it is asked for it. */
async function modelFrom(script: string): Promise<unknown> {
  const compose = await composeOf(
    `case "$*" in *version*) echo 2.26.1; exit;; esac\necho "$*" >${dir}/asked\n${script}`,
  );
  return compose.model({ dir, files: ['a.yaml', 'b.yaml'] }, never);
}

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
