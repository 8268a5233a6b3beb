import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { judgeComposePolicy, validateModelPolicy } from './composePolicy.rules.ts';
import { composeFileGaps, composeGaps } from './effect.rules.ts';
import { anyHost, type PolicyHost } from './policyHost.rules.ts';
import { composeProjectOf } from '../compose/composeProject.rules.ts';

const parts = `
networks: {n: }
configs: {f: {file: ./conf/f}, run: {file: ./conf/run.sh}, c: {content: a}}
secrets: {s: {environment: A}, k: {file: ./conf/f}}
`;

interface Facts {
  host?: Partial<PolicyHost>;
  engineApi?: readonly [number, number];
  isApplied?: boolean;
  flagged?: boolean;
}

function judged(service: string, facts?: Facts, top = parts) {
  return judgedFiles([`services:\n  db: {image: a}\n  web: {image: a, ${service}}\n${top}`], facts);
}

function judgedFiles(texts: readonly string[], { host, flagged = false, ...facts }: Facts = {}) {
  const files = texts.map((text, index) => {
    const parsed = parseComposeFile(index === 0 ? 'compose.yaml' : `${index}.yaml`, text);
    if ('problems' in parsed) throw new Error(text);
    return parsed.file;
  });
  const manifest = { agent: { allow_privileged: flagged }, compose: files.map(({ path }) => path) } as Manifest;
  const releaseFiles = new Set(['compose.yaml', 'conf', 'conf:x', 'conf/f', 'conf/run.sh']);
  const executables = new Set(['conf/run.sh']);
  const bundle = { manifest, projectName: 'deployd-eu-1', releaseFiles, executables };
  return judgeComposePolicy(composeProjectOf(files), { ...bundle, ...facts, host: { ...anyHost, ...host } });
}

const textsOfFiles = (...files: string[]) =>
  judgedFiles(files).refusals.flatMap(({ faults = [] }) => faults.map(({ text }) => text));

const textsOf = (service: string, facts?: Facts, top?: string) =>
  judged(service, facts, top).refusals.flatMap(({ faults = [] }) => faults.map(({ text }) => text));

describe('owner and mode of configs and secrets', () => {
  it.each([
    ['configs: [{source: f, uid: "1000"}]', 'configs.uid'],
    ['secrets: [{source: k, gid: "7"}]', 'secrets.gid'],
    ['secrets: [{source: k, mode: 0400}]', 'secrets.mode'],
    ['configs: [{source: f, mode: 0440}]', 'configs.mode'],
    ['configs: [{source: f, mode: 256}]', 'configs.mode'],
    ['configs: [{source: f, mode: 0_400}]', 'configs.mode'],
    ['configs: [{source: f, mode: +0400}]', 'configs.mode'],
    ['configs: [{source: f, mode: "400"}]', 'configs.mode'],
    ['configs: [{source: f, mode: 0555}]', 'configs.mode'],
    ['user: "1000", secrets: [{source: s, uid: "33", mode: 0400}]', 'secrets.uid'],
    ['user: "1000", secrets: [{source: s, uid: "1000", gid: "1000"}]', 'secrets.gid'],
    ['user: node, configs: [{source: c, uid: "1000"}]', 'configs.uid'],
  ])('refuses what compose does not do: %s', (service, key) => {
    expect(textsOf(service)).toEqual([
      expect.stringContaining(`service web: ${key} is refused on a host with compose`),
    ]);
  });

  it.each([
    'configs: [{source: f, mode: 0444}]',
    'configs: [{source: f, mode: 0644}]',
    'configs: [{source: run, mode: 0555}]',
    'configs: [{source: f, mode: 0_444}]',
    'configs: [{source: f, mode: "+444"}]',
    'configs: [{source: f, mode: 0x124}]',
    'configs: [{source: f, uid: "0", gid: "0", mode: 0644}]',
    'configs: [{source: f, uid: "0"}]',
    'secrets: [{source: s, uid: "1000", gid: "1001", mode: 0400}]',
    'user: "1000:1001", secrets: [{source: s, uid: "1000", gid: "1001", mode: 0400}]',
    'user: "1000", secrets: [{source: s, mode: 0400}]',
    'user: root, configs: [{source: c, uid: "0", gid: "0"}]',
    'user: "${U}:1000", secrets: [{source: s, mode: "${MODE}"}]',
  ])('allows what compose does: %s', (service) => {
    expect(textsOf(service).filter((text) => !text.includes(' user '))).toEqual([]);
  });

  it.each([
    ['configs: [{source: c, mode: "0400"}]', [2, 33], 'reads a mode in quotes'],
    ['configs: [{source: c, mode: "${MODE:-0400}"}]', [2, 26], 'reads a mode in quotes'],
    ['configs: [{source: c, mode: "0o400"}]', [2, 40], 'is not a mode that compose reads'],
    ['configs: [{source: c, mode: "888"}]', [2, 40], 'is not a mode that compose reads'],
    ['configs: [{source: c, mode: 0888}]', [5, 6], 'is not a mode that compose reads'],
    ['configs: [{source: c, mode: 256.0}]', [5, 6], 'is not a mode that compose reads'],
  ] as const)('refuses a mode that compose reads otherwise: %s', (service, composeVersion, problem) => {
    expect(textsOf(service, { host: { composeVersion } })).toEqual([expect.stringContaining(problem)]);
  });

  it.each([
    ['configs: [{source: c, mode: "0400"}]', [2, 34]],
    ['configs: [{source: c, mode: 0400}]', [2, 20]],
    ['configs: [{source: c, mode: "0400"}]', null],
  ] as const)('allows a mode that compose reads correctly: %s', (service, composeVersion) => {
    expect(textsOf(service, { host: { composeVersion } })).toEqual([]);
  });

  const asking = '{image: a, secrets: [{source: s, uid: "33"}]}';
  const top = 'secrets: {s: {environment: A}}\n';

  it.each([
    ['a base', [`services:\n  web: {extends: base, user: "1000"}\n  base: ${asking}\n${top}`]],
    ['another file', [`services: {web: ${asking}}\n${top}`, 'services: {web: {user: "1000"}}\n']],
    [
      'a base of another file’s service',
      [`services: {base: ${asking}, web: {extends: base}}\n${top}`, 'services: {web: {user: "1000"}}\n'],
    ],
  ])('refuses an owner from %s that a user takes away', (_, files) => {
    expect(textsOfFiles(...files)).toEqual([expect.stringContaining('secrets.uid is refused on a host with compose')]);
  });

  it('allows an owner of a base that the service replaces', () => {
    const web = '{extends: base, user: "1000", secrets: [{source: s, uid: "1000"}]}';
    expect(textsOfFiles(`services:\n  web: ${web}\n  base: ${asking}\n${top}`)).toEqual([]);
  });

  it('reads the mode of a rendered model', () => {
    const model = {
      services: { web: { image: 'a', secrets: [{ source: 'k', target: 'k', mode: '0400' }] } },
      secrets: { k: { file: '/r/conf/f' } },
    };
    const context = {
      ...{ manifest: { agent: {}, compose: ['compose.yaml'] } as unknown as Manifest, projectName: 'deployd-eu-1' },
      ...{ releaseFiles: new Set(['conf', 'conf/f']), openedPaths: { all: [], byCompose: [] } },
    };
    expect(validateModelPolicy(model, '/r', context)).toMatchObject([{ code: 'COMPOSE_REFUSED' }]);
    expect(validateModelPolicy(model, '/r', { ...context, isApplied: true })).toEqual([]);
  });
});

describe('keys that a host would leave out', () => {
  const old = { composeVersion: [2, 20] } as const;
  const recent = { composeVersion: [5, 6] } as const;

  it.each(composeGaps)('are refused: $example', ({ key, example }) => {
    const isMacAddress = key === 'mac_address';
    const host = isMacAddress ? ({ composeVersion: [2, 26] } as const) : old;
    const facts = { flagged: true, engineApi: [1, 51] } as const;
    expect(textsOf(example, { ...facts, host })).toEqual([expect.stringContaining(`web: ${key} is refused`)]);
  });

  it.each(['deploy: {resources: {limits: {cpus: "1000m"}}}', 'deploy: {resources: {limits: {pids: 1k}}}'])(
    'refuses a limit that compose 2.20 drops: %s',
    (service) => expect(textsOf(service)).toEqual([expect.stringContaining('must be a number')]),
  );

  it.each(['volumes: [{type: tmpfs, target: "/x:y"}]', 'configs: [{source: f, target: "/x:y"}]'])(
    'are not meant by a colon that arrives: %s',
    (service) => expect(textsOf(service)).toEqual([]),
  );

  it.each(composeFileGaps)('are refused: $example', ({ key, example }) => {
    const facts = { flagged: true, engineApi: [1, 51] } as const;
    expect(textsOf('', { ...facts, host: old }, example)).toEqual([expect.stringContaining(`${key} is refused`)]);
    expect(textsOf('', { ...facts, host: recent }, example)).toEqual([]);
  });

  it.each(['gpus', 'post_start', 'storage_opt', 'mac_address'])('are allowed where they have an effect: %s', (key) => {
    const example = composeGaps.find((gap) => gap.key === key)?.example ?? '';
    expect(textsOf(example, { flagged: true, host: recent, engineApi: [1, 51] })).toEqual([]);
  });

  it('are refused for an old engine too', () => {
    const service = 'networks: {n: {gw_priority: 1}}';
    expect(textsOf(service, { host: recent, engineApi: [1, 41] })).toHaveLength(1);
    expect(textsOf(service, { host: recent, engineApi: [1, 48] })).toEqual([]);
  });

  it('are checked for the whole service: a base may have the condition of its attempts', () => {
    const policy = (more: string) => `deploy: {restart_policy: {${more}}}`;
    expect(textsOf(policy('max_attempts: 3'))).toHaveLength(1);
    expect(
      textsOf(
        `extends: base, ${policy('max_attempts: 3')}`,
        {},
        `  base: {image: a, ${policy('condition: on-failure')}}\n`,
      ),
    ).toEqual([]);
  });

  it.each([
    ['services: {web: {image: a, deploy: {placement: {max_replicas_per_node: 1}}}}', 'services: {web: {scale: 2}}'],
    [
      'services: {web: {image: a, deploy: {replicas: 3}}}',
      'services: {web: {deploy: {placement: {max_replicas_per_node: 2}}}}',
    ],
    ['services: {base: {image: a, deploy: {placement: {max_replicas_per_node: 1}}}, web: {extends: base, scale: 2}}'],
    ['services: {web: {image: a, deploy: {restart_policy: {max_attempts: 3}}}}', 'services: {web: {scale: 1}}'],
  ])('are checked over all files and bases: %s', (...files) => {
    expect(textsOfFiles(...files)).toEqual([expect.stringContaining(' is refused on a host with compose')]);
  });

  it.each([
    [
      'services: {web: {image: a, scale: 2, deploy: {placement: {max_replicas_per_node: 1}}}}',
      'services: {web: {scale: 1}}',
    ],
    [
      'services: {web: {image: a, deploy: {restart_policy: {max_attempts: 3}}}}',
      'services: {web: {deploy: {restart_policy: {condition: on-failure}}}}',
    ],
  ])('are allowed where another file makes them harmless: %s', (...files) => {
    expect(textsOfFiles(...files)).toEqual([]);
  });

  it('are allowed in a swarm, which has separate rules', () => {
    const service = 'secrets: [{source: k, mode: 0400}], deploy: {replicas: 2, placement: {max_replicas_per_node: 1}}';
    expect(textsOf(service, { host: { orchestrator: 'swarm' } })).toEqual([]);
  });

  it('are a warning where the same content is applied already', () => {
    const { refusals, warnings } = judged('configs: [{source: f, uid: "1000"}]', { isApplied: true });
    expect(refusals).toEqual([]);
    expect(warnings).toMatchObject([{ text: expect.stringContaining('configs.uid') as string }]);
  });
});
