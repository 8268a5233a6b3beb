import { refusalsOf, serviceWith } from '../../../fixtures/suites/corpus/bundleRefusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { validateComposePolicy, validateModelPolicy } from './composePolicy.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

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

const range = 'has a range that must be written out (compose.yaml:5)';
const ways = 'depends_on, links or volumes_from: more than 1000000 ways through the dependencies';
const tooDeep = 'service s51: depends_on, links or volumes_from: a chain of more than 50';
const split = 'has more than 16384 characters (compose.yaml:5)';
const chainBy = (key: string) => servicesWith(many(52, (at) => (at === 0 ? '' : `, ${key}: "service:s${at - 1}"`)));

describe('a bundle over a limit (spec §12.2)', () => {
  it.each<[string, string, string]>([
    ['scale', serviceWith('scale: 101'), 'service web: scale asks for more than 100 containers (compose.yaml:5)'],
    [
      'a hexadecimal scale',
      serviceWith('scale: 0x7fffffff'),
      'service web: scale asks for more than 100 containers (compose.yaml:5)',
    ],
    [
      'replicas',
      serviceWith('deploy: {replicas: 1_0_1}'),
      'service web: deploy.replicas asks for more than 100 containers (compose.yaml:5)',
    ],
    ['services', servicesWith(many(501, () => '')), 'service s500: more than 500 containers in the bundle'],
    [
      'containers of all services',
      servicesWith(many(6, (at) => (at % 2 ? ', scale: 100' : ', deploy: {replicas: 100}'))),
      'service s5: more than 500 containers in the bundle',
    ],
    ['a range of ports', serviceWith("ports: ['1-2001']"), 'service web: ports: more than 2000 ports in the bundle'],
    [
      'a range of exposed ports',
      serviceWith('expose: ["10-2010/udp"]'),
      'service web: expose: more than 2000 ports in the bundle',
    ],
    ...['{target: 80, published: 10-2010}', '{target: 1-2001, published: 1-2}', '"1.2.3.4:1-2:1-2001"'].map(
      (port): [string, string, string] => [
        `the range of ${port}`,
        serviceWith(`ports: [${port}]`),
        'service web: ports: more than 2000 ports in the bundle',
      ],
    ),
    [
      'ports of all services',
      servicesWith(many(21, () => ", ports: ['1-100']")),
      'service s20: ports: more than 2000 ports in the bundle',
    ],
    ...['${BIND:-::1}:${P:-50-55}:50-55', '${P:-::1:50-55:50-55}', '${P-}50-55:50-55', '${P:-1}-${Q:-65535}:80'].map(
      (port): [string, string, string] => [
        'a range with a variable',
        serviceWith(`ports: ["${port}"]`),
        `service web: ports ${port} ${range}`,
      ],
    ),
    [
      'a range from a variable',
      serviceWith('ports: ["${P:-1-65535}"]'),
      `service web: ports \${P:-1-65535} ${range}; service web: ports: more than 2000 ports in the bundle`,
    ],
    [
      'a link from a variable',
      serviceWith('links: ["${L:-other}"]'),
      'service web: links ${L:-other} must be SERVICE or SERVICE:ALIAS (compose.yaml:5)',
    ],
    [
      'dependencies',
      withDependencies(many(98, (at) => many(at < 29 ? 0 : 29, (need) => need))),
      'service s97: depends_on, links or volumes_from: more than 2000 dependencies in the bundle',
    ],
    ['paths', withDependencies(dense(20)), `service s19: ${ways}`],
    [
      'paths beside a circle',
      withDependencies([[0], ...dense(20).slice(1)]),
      `services depend on each other in a circle: s0, s0; service s19: ${ways}`,
    ],
    ['paths by links', withDependencies(dense(20), 'links'), `service s19: ${ways}`],
    ['paths by volumes_from', withDependencies(dense(20), 'volumes_from'), `service s19: ${ways}`],
    ['a chain of dependencies', withDependencies(chain(52)), tooDeep],
    ...['network_mode', 'ipc', 'pid'].map((key): [string, string, string] => [
      `a chain of ${key}`,
      chainBy(key),
      tooDeep,
    ]),
    [
      'a chain of dependencies with conditions',
      servicesWith(many(52, (at) => (at === 0 ? '' : `, depends_on: {s${at - 1}: {required: true}}`))),
      tooDeep,
    ],
    [
      'keys',
      serviceWith(`labels: {${many(5001, (at) => `k${at}: v`).join(', ')}}`),
      'service web: labels has more than 5000 keys (compose.yaml:5)',
    ],
    ['a command', serviceWith(`command: ${'x'.repeat(16_385)}`), `service web: command ${split}`],
    ['an entrypoint', serviceWith(`entrypoint: "${'$$'.repeat(8_193)}"`), `service web: entrypoint ${split}`],
    [
      'a hook',
      serviceWith(`post_start: [{command: ${'x'.repeat(16_385)}}]`),
      `service web: post_start.command ${split}`,
    ],
    [
      'a text',
      serviceWith(`x-a: ${'x'.repeat(131_073)}`),
      'service web: x-a has more than 131072 characters (compose.yaml:5)',
    ],
  ])('is refused: %s', async (_title, compose, detail) => {
    expect(await refusalsOf({ compose })).toMatchObject([{ code: 'COMPOSE_REFUSED', detail }]);
  });

  it.each([
    ['a scale of 100', serviceWith('scale: 100')],
    ['a scale from a variable', serviceWith('scale: ${N:-3}')],
    ['a range at an address from a variable', serviceWith('ports: ["${BIND:-127.0.0.1}:50-55:50-55/tcp"]')],
    ['a port from a variable at an address from one', serviceWith('ports: ["${BIND-${ANY-::1}}:${PORT:-80}:80"]')],
    ['two thousand ports', serviceWith('ports: ["8001-9998:8001-9998", "${PORT:-80}:80", "[::1]:82:82/udp"]')],
    ['a range that runs backwards', serviceWith('ports: [{target: 9-1}]')],
    ['links', serviceWith('links: [other, "other:db"]')],
    ['a long command', serviceWith(`command: ${'x'.repeat(16_384)}`)],
    ['a long text', serviceWith(`x-a: ${'x'.repeat(131_072)}`)],
    ['five thousand keys', serviceWith(`labels: {${many(5_000, (at) => `k${at}: v`).join(', ')}}`)],
    ['no command', serviceWith('command: ')],
    ['a long command as a list', serviceWith(`command: [${'x'.repeat(100_000)}]`)],
    ['five hundred services', servicesWith(many(500, () => ''))],
    ['many paths', withDependencies(dense(19))],
    ['two thousand dependencies', withDependencies(many(90, (at) => many(at < 50 ? 0 : 50, (need) => need)))],
    [
      'the same dependency twice',
      servicesWith(many(25, (at) => (at === 0 ? '' : `, depends_on: [s${at - 1}], links: ["s${at - 1}:db"]`))),
    ],
    ['a long chain', withDependencies(chain(51))],
    [
      'a long chain of services that do not run, which ends at one that is missing',
      servicesWith(
        many(52, (at) => (at === 51 ? '' : `, profiles: [p], depends_on: [${at === 0 ? 'none' : `s${at - 1}`}]`)),
      ),
    ],
  ])('is allowed: %s', async (_title, compose) => {
    expect(await refusalsOf({ compose })).toMatchObject([]);
  });

  it.each([
    [2, []],
    [3, ['service s2: env_file: more than 524288 characters of env files and label files in the bundle']],
  ])('counts an env file for every service that reads it: %s', async (count, details) => {
    const files = { 'big.env': `A=${'x'.repeat(262_141)}\n` };
    const refusals = await refusalsOf({ compose: servicesWith(many(count, () => ', env_file: big.env')), files });
    expect(refusals.map(({ detail }) => detail)).toEqual(details);
  });

  it.each([
    [1_000, []],
    [1_001, ['service web: env_file long.env has more than 1000 lines (compose.yaml:5)']],
  ])('counts the lines of an env file: %s', async (count, details) => {
    const files = { 'long.env': `${many(count, (at) => `A${at}=x\n`).join('')}\n\n` };
    const refusals = await refusalsOf({ compose: serviceWith('env_file: long.env'), files });
    expect(refusals.map(({ detail }) => detail)).toEqual(details);
  });
});

describe('a bundle that is made to exhaust whoever reads it', () => {
  const [wide, mostMs, mostCharacters] = [10_000, 10_000, 1_000_000];
  const healthy = many(
    5_000,
    (at) => `, healthcheck: {test: x}, depends_on: {s${at + 1}: {condition: service_healthy}}`,
  );
  const circle = many(wide, (at) => [(at + 1) % wide]);

  it.each<[string, string]>([
    ['services', servicesWith(many(wide, () => ''))],
    ['services that depend on one', withDependencies(many(wide, (at) => (at === 0 ? [] : [0])))],
    ['a chain of depends_on', withDependencies(chain(wide))],
    ['a chain of depends_on that begins with its end', withDependencies(many(wide, (at) => [at + 1]))],
    ['a chain of links', withDependencies(chain(wide), 'links')],
    ['a chain of volumes_from', withDependencies(chain(wide), 'volumes_from')],
    ['a chain of network_mode', servicesWith(many(wide, (at) => `, network_mode: "service:s${at + 1}"`))],
    ['a chain of healthchecks', servicesWith(healthy)],
    ['a circle of depends_on', withDependencies(circle)],
    ['a chain of extends', servicesWith(many(wide, (at) => `, extends: s${at + 1}`))],
    ['services that extend one', servicesWith(many(wide, (at) => (at === 0 ? '' : ', extends: s0')))],
    ['missing services', servicesWith(many(wide, (at) => `, links: [none${at}]`))],
    ['missing networks', servicesWith(many(wide, (at) => `, networks: [none${at}]`))],
    ['privileged services', servicesWith(many(wide, () => ', privileged: true'))],
    ['services with an unknown key', servicesWith(many(wide, () => ', unknown: x'))],
    ['mounts of one service', serviceWith(`volumes: [${many(wide, (at) => `"d${at}:/d${at}"`).join(', ')}]`)],
    ['ports of one service', serviceWith(`ports: [${many(wide, (at) => `"${at}:${at}"`).join(', ')}]`)],
    ['ranges of one port', serviceWith(`ports: ["${'1-2,'.repeat(130_000)}"]`)],
    [
      'networks',
      `services: {web: {image: a}}\nnetworks:\n${many(wide, (at) => `  n${at}: {driver: host}\n`).join('')}`,
    ],
    ['variables of one text', serviceWith(`x-a: "${'${A}'.repeat(wide)}"`)],
    ['variables in a variable', serviceWith(`x-a: "${'${A:-'.repeat(wide)}${'}'.repeat(wide)}"`)],
    ['a single line of five megabytes', serviceWith(`x-a: ${'x'.repeat(5_000_000)}`)],
    ['a line of words of five megabytes', 'x '.repeat(2_500_000)],
    ...['[', '{a: ', '- ', '? ', '&a [', '!t ['].map((opening): [string, string] => [
      `nesting by ${opening}`,
      `x-a:\n  ${opening.repeat(wide)}`,
    ]),
    ['nested mappings in block style', many(900, (at) => `${' '.repeat(at)}a:\n`).join('')],
  ])('is refused within seconds, in a text that can be shown: %s', async (_title, compose) => {
    const began = performance.now();
    const refusals = await refusalsOf({ compose });
    expect(performance.now() - began).toBeLessThan(mostMs);
    expect(refusals.map(({ code }) => code)).toContain('COMPOSE_REFUSED');
    expect(JSON.stringify(refusals).length).toBeLessThan(mostCharacters);
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
  const refusalsOfFiles = (...texts: string[]) => {
    const parsed = texts.map((text, at) => parseComposeFile(`${at}.yaml`, text));
    const files = parsed.flatMap((one) => ('file' in one ? [one.file] : []));
    expect(files).toHaveLength(texts.length);
    return validateComposePolicy(composeProjectOf(files), context);
  };
  const withCopies = (count: number) =>
    `x-base: &a ${'x'.repeat(9_000)}\nservices: {web: {x-a: [${'*a, '.repeat(count)}]}}\n`;
  const withValues = (count: number) => `x-a: [${'a, '.repeat(count)}]\nservices: {web: {}}\n`;

  it.each([
    [withCopies(40), 'more than 524288 characters, copies counted in full'],
    [withValues(25_000), 'more than 50000 values, copies counted in full'],
  ])('are counted together, with their aliases expanded: %#', (text, excess) => {
    expect(refusalsOfFiles(text, text)).toMatchObject([
      { code: 'COMPOSE_REFUSED', detail: `compose files together: ${excess}` },
    ]);
  });

  it('may be as large as one file together', () => {
    expect(refusalsOfFiles(withCopies(25), withCopies(25))).toMatchObject([]);
    expect(refusalsOfFiles(withValues(24_900), withValues(24_900))).toMatchObject([]);
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
    expect(refusalsOfModel(services)).toMatchObject([{ code: 'COMPOSE_REFUSED', detail }]);
  });
});
