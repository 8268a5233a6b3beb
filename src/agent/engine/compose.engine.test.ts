import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { sharedEngine } from '../../../fixtures/world/harness.ts';
import type { Settings } from '../config/configKeys.ts';
import { createRedactor } from '../secrets/redactor.ts';
import { createCompose } from './compose.ts';
import type { ResourceLimits } from './programs.ts';

let dir: string;
beforeEach(() => void (dir = tempDir()));

const services = (count: number, more: (index: number) => string) =>
  `services:\n${Array.from({ length: count }, (_, at) => `  s${at}: {image: a, ${more(at)}}\n`).join('')}`;
/**
 * Bundles that the policy would refuse: rendering the first takes time that doubles with each service, the second
 * gigabytes.
 */
const endless = services(60, (at) => `depends_on: [${Array.from({ length: at }, (_, need) => `s${need}`).join(', ')}]`);
const huge = services(60, () => "ports: ['1-65535']");

async function rendered(text: string, limits?: ResourceLimits, profiles: string[] = []): Promise<unknown> {
  await writeFile(join(dir, 'compose.yaml'), text);
  const { compose } = sharedEngine();
  const settings = { state_dir: dir, env: 'eu-1', compose, container_host: 'unix:///x' } as Settings;
  const adapter = createCompose(settings, 'deployd-eu-1', { redactor: () => createRedactor([]), limits });
  return adapter.renderModel({ dir, files: ['compose.yaml'], profiles }, new AbortController().signal);
}

const environmentNames = ['TZ', 'LANG', 'LC_ALL', 'COMPOSE_PROFILES'];

describe('a real compose (spec §12.1)', () => {
  const before = environmentNames.map((name) => [name, process.env[name]] as const);
  afterEach(() => {
    for (const [name, value] of before)
      if (value === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = value;
  });

  it.each([
    ['', { TZ: 'UTC', LANG: 'none', LC_ALL: 'none' }],
    ['TZ=Asia/Tokyo\nLANG=ja_JP\nLC_ALL=C\n', { TZ: 'Asia/Tokyo', LANG: 'ja_JP', LC_ALL: 'C' }],
  ])('takes time zone and language only from .env, not from the agent: %j', async (env, environment) => {
    for (const name of environmentNames) process.env[name] = 'C.UTF-8';
    await writeFile(join(dir, '.env'), env);
    const written = "{TZ: '${TZ:-UTC}', LANG: '${LANG:-none}', LC_ALL: '${LC_ALL-none}'}";
    const model = await rendered(`services: {web: {image: a, environment: ${written}}}`);
    expect(model).toMatchObject({ services: { web: { environment } } });
  });

  it.each([
    [[], ['web']],
    [['q'], ['tool', 'web']],
  ])('takes the profiles only from the manifest, not from the agent: %j', async (profiles, services) => {
    process.env['COMPOSE_PROFILES'] = 'p';
    const text = 'services: {web: {image: a}, debug: {image: a, profiles: [p]}, tool: {image: a, profiles: [q]}}';
    const model = (await rendered(text, undefined, profiles)) as { services: object };
    expect(Object.keys(model.services).toSorted()).toEqual(services);
  });

  it.each([
    ['computes without end', endless, { cpu_s: 2, memory_bytes: 2 ** 32 }, '2 s of CPU time'],
    ['eats memory', huge, { cpu_s: 60, memory_bytes: 2 ** 29 }, '512 MiB of memory'],
  ])('that %s is terminated at its limit', async (_title, text, limits, limit) => {
    await expect(rendered(text, limits)).rejects.toMatchObject({
      ending: 'refused',
      message: `refused: COMPOSE_REFUSED: docker compose config cannot read the bundle: it reached its limit of ${limit}; make the bundle smaller`,
    });
  });
});
