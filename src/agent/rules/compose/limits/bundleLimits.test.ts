import { refusalsOf, serviceWith } from '../../../../../fixtures/corpus/bundleRefusals.ts';
import type { Manifest } from '../../../../../machines/types.ts';
import { parseComposeFile } from '../document/composeFile.ts';
import { validateComposePolicy, validateModelPolicy } from '../policy/composePolicy.ts';

const many = <T>(count: number, each: (index: number) => T) => Array.from({ length: count }, (_, at) => each(at));
const servicesWith = (parts: string[]) =>
  `services:\n${parts.map((part, at) => `  s${at}: {image: a${part}}\n`).join('')}`;
const withDependencies = (needs: number[][], key = 'depends_on') =>
  servicesWith(needs.map((each) => (each.length === 0 ? '' : `, ${key}: [${each.map((at) => `s${at}`).join(', ')}]`)));
const dense = (count: number) => many(count, (at) => many(at, (need) => need));
const chain = (count: number) => many(count, (at) => (at === 0 ? [] : [at - 1]));

const manifest = { agent: { allow_privileged: true }, compose: ['compose.yaml'] } as unknown as Manifest;
const openedPaths = { all: [], byCompose: [] };
const context = { releaseFiles: new Set<string>(), projectName: 'deployd-eu-1', manifest, openedPaths };

describe('a bundle over a limit (spec §12.2)', () => {
  it.each<[string, string, RegExp]>([
    ['scale', serviceWith('scale: 101'), /^service web: scale asks for more than 100 containers \(compose\.yaml:5\)$/],
    ['a hexadecimal scale', serviceWith('scale: 0x7fffffff'), /^service web: scale asks for more than 100 containers /],
    [
      'replicas',
      serviceWith('deploy: {replicas: 1_000}'),
      /^service web: deploy\.replicas asks for more than 100 containers /,
    ],
    ['services', servicesWith(many(501, () => '')), /^service s500: more than 500 containers in the bundle$/],
    [
      'containers of all services',
      servicesWith(many(6, () => ', scale: 100')),
      /^service s5: more than 500 containers /,
    ],
    ['a range of ports', serviceWith("ports: ['1-65535']"), /^service web: ports: more than 2000 ports in the bundle$/],
    ['a range of exposed ports', serviceWith('expose: ["1-65535/udp"]'), /^service web: expose: more than 2000 ports/],
    ['a range in the long form', serviceWith('ports: [{target: 80, published: 1-65535}]'), /more than 2000 ports/],
    [
      'ports of all services',
      servicesWith(many(21, () => ", ports: ['1-100']")),
      /^service s20: ports: more than 2000/,
    ],
    ['a range from a variable', serviceWith('ports: ["${P:-1-65535}"]'), /^service web: ports .* range .*written out/],
    [
      'a range after a port from a variable',
      serviceWith('ports: ["${BIND:-::1}:${P:-50-55}:50-55"]'),
      /^service web: ports .* range /,
    ],
    ['a range within a default', serviceWith('ports: ["${P:-::1:50-55:50-55}"]'), /^service web: ports .* range /],
    [
      'a range that starts with a variable',
      serviceWith('ports: ["${P-}50-55:50-55"]'),
      /^service web: ports .* range /,
    ],
    ['a range between variables', serviceWith('ports: ["${P:-1}-${Q:-65535}:80"]'), /^service web: ports .* range /],
    ['a link from a variable', serviceWith('links: ["${L:-other}"]'), /^service web: links .*must be/],
    ['dependencies', withDependencies(many(90, (at) => many(at < 45 ? 0 : 45, (need) => need))), /2000 depend/],
    ['paths', withDependencies(dense(20)), /^service s19: depends_on, links .*: more than 1000000 ways/],
    [
      'paths by links',
      withDependencies(dense(20), 'links'),
      /^service s19: depends_on, links .*: more than 1000000 ways/,
    ],
    ['paths by volumes_from', withDependencies(dense(20), 'volumes_from'), /^service s19: .*: more than 1000000 ways/],
    ['a chain of dependencies', withDependencies(chain(52)), /^service s51: .*: a chain of more than 50$/],
    [
      'keys',
      serviceWith(`labels: {${many(5001, (at) => `k${at}: v`).join(', ')}}`),
      /web: labels has more than 5000 keys/,
    ],
    [
      'a command',
      serviceWith(`command: ${'x'.repeat(16_385)}`),
      /web: command has more than 16384 characters; .* a list/,
    ],
    [
      'an entrypoint',
      serviceWith(`entrypoint: "${'$$'.repeat(8_193)}"`),
      /^service web: entrypoint has more than 16384/,
    ],
    [
      'a hook',
      serviceWith(`post_start: [{command: ${'x'.repeat(16_385)}}]`),
      /^service web: post_start.command has more/,
    ],
    ['a text', serviceWith(`x-a: ${'x'.repeat(131_073)}`), /^service web: x-a has more than 131072 characters /],
  ])('is refused: %s', async (_title, compose, message) => {
    const refusals = await refusalsOf({ compose });
    expect(refusals).toEqual([{ code: 'COMPOSE_REFUSED', detail: expect.stringMatching(message) as string }]);
  });

  it.each([
    ['a scale of 100', serviceWith('scale: 100')],
    ['a scale from a variable', serviceWith('scale: ${N:-3}')],
    ['a range at an address from a variable', serviceWith('ports: ["${BIND:-127.0.0.1}:50-55:50-55/tcp"]')],
    ['a port from a variable at an address from one', serviceWith('ports: ["${BIND-${ANY-::1}}:${PORT:-80}:80"]')],
    ['a thousand ports', serviceWith('ports: ["8000-9000:8000-9000", "${PORT:-80}:80", "[::1]:82:82/udp"]')],
    ['links', serviceWith('links: [other, "other:db"]')],
    ['a long command as a list', serviceWith(`command: [${'x'.repeat(100_000)}]`)],
    ['five hundred services', servicesWith(many(500, () => ''))],
    ['many paths', withDependencies(dense(19))],
    ['a long chain', withDependencies(chain(51))],
    ['a cycle, which compose itself refuses', withDependencies([[1], [2], [0]])],
    ['a dependency on a missing service', serviceWith('depends_on: [nobody]')],
  ])('is allowed: %s', async (_title, compose) => {
    expect(await refusalsOf({ compose })).toEqual([]);
  });

  it('counts an env file for every service that reads it', async () => {
    const files = { 'big.env': `A=${'x'.repeat(200_000)}\n` };
    const reading = servicesWith(many(6, () => ', env_file: big.env'));
    expect(await refusalsOf({ compose: reading, files })).toMatchObject([
      { detail: 'service s2: env_file: more than 524288 characters of env files and label files in the bundle' },
    ]);
  });

  it('counts the lines of an env file', async () => {
    const files = { 'long.env': many(1_001, (at) => `A${at}=x\n`).join('') };
    expect(await refusalsOf({ compose: serviceWith('env_file: long.env'), files })).toMatchObject([
      { detail: expect.stringMatching(/^service web: env_file long\.env has more than 1000 lines /) as string },
    ]);
  });
});

describe('a very long text under a key that is validated by a pattern', () => {
  it.each(['stop_grace_period', 'ports', 'scale', 'mem_limit', 'user', 'tmpfs'])('is refused: %s', async (key) => {
    const refusals = await refusalsOf({ compose: serviceWith(`${key}: ["${'1'.repeat(500_000)}"]`) });
    const single = await refusalsOf({ compose: serviceWith(`${key}: "${'1'.repeat(500_000)}"`) });
    expect([refusals, single].map(([first]) => first?.code)).toEqual(['COMPOSE_REFUSED', 'COMPOSE_REFUSED']);
  });
});

describe('several files', () => {
  it('are counted together, with their aliases expanded', () => {
    const withAliases = (name: string) =>
      `x-base: &a ${'x'.repeat(9_000)}\nx-${name}: [${'*a, '.repeat(40)}]\nservices: {web: {}}\n`;
    const parsed = ['a', 'b'].map((name) => parseComposeFile(`${name}.yaml`, withAliases(name)));
    const files = parsed.flatMap((one) => ('file' in one ? [one.file] : []));
    expect(validateComposePolicy(files, context)).toEqual([
      {
        code: 'COMPOSE_REFUSED',
        detail: 'compose files together: more than 524288 characters, copies counted in full',
      },
    ]);
  });
});

describe('a rendered model over a limit (spec §12.2)', () => {
  const refusalsOfModel = (services: object) => validateModelPolicy({ services }, '/r', context);
  const manyServices = Object.fromEntries(
    many(6, (at) => `s${at}`).map((name) => [name, { deploy: { replicas: 99 } }]),
  );

  it.each<[string, object, string]>([
    ['scale', { web: { scale: 101 } }, 'service web: scale asks for more than 100 containers, as compose renders it'],
    [
      'replicas',
      { web: { deploy: { replicas: 1e9 } } },
      'service web: deploy asks for more than 100 containers, as compose renders it',
    ],
    ['containers', manyServices, 'service s5: more than 500 containers in the bundle'],
    [
      'ports',
      { web: { ports: many(2_001, (target) => ({ target, published: String(target) })) } },
      'service web: ports: more than 2000 ports in the bundle',
    ],
    [
      'keys, whose names stay secret',
      { web: { environment: Object.fromEntries(many(5_001, (at) => [`k${at}`, 'hunter2'])) } },
      'service web: environment has more than 5000 keys, as compose renders it',
    ],
  ])('is refused: %s', (_title, services, detail) => {
    expect(refusalsOfModel(services)).toEqual([{ code: 'COMPOSE_REFUSED', detail }]);
  });
});
