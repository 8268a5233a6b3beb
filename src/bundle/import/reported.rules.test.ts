import { asCompose } from '../../../fixtures/world/import/asCompose.ts';
import { importedBundle, type ProjectFiles } from '../../../fixtures/world/import/importing.ts';
import { applyEffect } from './importWork.rules.ts';
import { listAt, type Model, type Part, partAt, sections } from './model.rules.ts';
import { unreportedDifferences } from './reported.rules.ts';

const project = `services:
  a: {image: x, command: [c, d], environment: {A: "1"}, volumes: ["v:/d"], healthcheck: {retries: 3}, cap_add: [A, B]}
  b: {image: z, volumes: ["v:/e"], deploy: {placement: {constraints: [w]}}}
volumes: {v: {}}
`;

it.each<[title: string, from: string, to: string, expected: string[]]>([
  ['nothing', '', '', []],
  ['a value that may be shown', 'image: x', 'image: y', ['service a: image: is "x" in the project, "y" in the bundle']],
  ['a value that may be secret', 'A: "1"', 'A: "2"', ['service a: environment.A: differs from the project']],
  ['a number and a text', 'retries: 3', 'retries: "3"', ['service a: healthcheck.retries: differs from the project']],
  ['the words of a command', '[c, d]', '[c, e]', ['service a: command: differs from the project']],
  [
    'an item of a list',
    '[A, B]',
    '[A, C]',
    ['service a: cap_add: "B" is only in the project; "C" is only in the bundle'],
  ],
  ['the order of a list', '[A, B]', '[B, A]', ['service a: cap_add: has another order in the bundle']],
  [
    'a key that only the project has',
    ', healthcheck: {retries: 3}',
    '',
    ['service a: healthcheck: differs from the project'],
  ],
  ['a key that only the bundle has', 'image: z', 'image: z, init: true', ['service b: init: differs from the project']],
  ['a volume', '{v: {}}', '{v: {}, w: {}}', ['volume w: : is only in the bundle']],
  ['a key that is left to decide', '"v:/d"', '"v:/f"', []],
  ['the same key of another service', '"v:/e"', '"v:/f"', [expect.stringMatching(/^service b: volumes: /) as string]],
  ['a part of a key that is left to decide', '[w]', '[u]', []],
  ['all of a key of which a part is left to decide', ', deploy: {placement: {constraints: [w]}}', '', []],
])('names a difference of project and bundle: %s', (_, from, to, expected) => {
  const undecided = [
    { owner: 'service a', key: 'volumes', what: '', cure: '' },
    { owner: 'service b', key: 'deploy.placement', what: '', cure: '' },
  ];
  const models = { before: asCompose(project), after: asCompose(project.replace(from, to)) };
  const found = unreportedDifferences(models, { effects: [], report: { undecided }, projectName: 'p' });
  expect(found.map(({ owner, key, what }) => `${owner}: ${key}: ${what}`)).toEqual(expected);
});

/** A project in which many rules of an import have an effect. */
const changedProject: ProjectFiles = {
  'compose.yaml': `services:
  a: {image: x, build: ., runtime: nvidia, cpu_count: 2, stop_grace_period: 1h, logging: {driver: gelf}, profiles: ["", p, ""],
    environment: {LEFT: , KEPT: "1"}, volumes: [./data:/data, ./app.conf:/app.conf, ./key:/key, /dev/kvm:/dev/kvm, /srv:/srv],
    secrets: [{source: s, uid: "7"}, t], deploy: {restart_policy: {max_attempts: 3}, replicas: 1}}
  b: {image: y, network_mode: bridge, pid: "container:c", volumes: [/tmp/x:/x, ~/y:/y]}
  c: {image: z, container_name: c}
networks: {n: {driver: overlay, driver_opts: {a: b}}, m: {driver: macvlan}, o: {}}
volumes: {v: {driver: local-persist, driver_opts: {mountpoint: /srv/v}}, w: {driver_opts: {type: nfs}}, z: {}}
secrets: {s: {file: ./s}, t: {external: true}}
configs: {f: {content: x}}
`,
  ...{ s: 'hunter2', key: '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n', 'app.conf': 'a=1\n' },
};

/** Changes to a model that no row of the report names, for the owner of the row. */
const strays: [title: string, stray: (model: Model, owner: string) => unknown][] = [
  ['another key', (model, owner) => Object.assign(partsFor(model, owner, true)[0]!, { stray: { a: 'b' } })],
  ['other services', (model, owner) => partsFor(model, owner, false).map((part) => (part['image'] = 'other'))],
  ['mounts of other services', (model, owner) => partsFor(model, owner, false).map((part) => delete part['volumes'])],
  [
    'another mount',
    ({ services }) => Object.assign(listAt<Part>(services['a']!, 'volumes').at(-1)!, { target: '/other' }),
  ],
  [
    'a key of other services that rows name',
    (...args) => partsFor(...args, false).map((part) => (part['deploy'] ??= {})),
  ],
  ['a service that rows name', ({ services }) => delete services['c']],
  ['a name that begins like that of a row', ({ services }) => (partAt(services['a'], 'environment')['LEFTOVER'] = 'x')],
  ['a volume whose name is a part of words', ({ volumes }) => (volumes['e'] = {})],
  ['a new network', ({ networks }) => (networks['stray'] = {})],
  ['a volume', ({ volumes }) => delete volumes['z']],
  ['a config', ({ configs }) => (configs['f'] = { content: 'y' })],
];

function partsFor(model: Model, owner: string, isOwn: boolean): Part[] {
  const all = isOwn ? sections : (['services'] as const);
  return all.flatMap((section) =>
    Object.entries(model[section]).flatMap(([name, part]) =>
      (`${section.slice(0, -1)} ${name}` === owner) === isOwn ? [part] : [],
    ),
  );
}

it.each(strays)('finds an effect that also changes what its row does not name: %s', (_, stray) => {
  const { effects } = importedBundle(changedProject);
  const read = () => asCompose(changedProject['compose.yaml'] as string);
  const differencesWith = (applied: typeof effects) => {
    const after = read();
    for (const one of applied) applyEffect(after, one);
    return unreportedDifferences(
      { before: read(), after },
      { effects: applied, report: { undecided: [] }, projectName: 'p' },
    );
  };
  expect(effects.length).toBeGreaterThan(20);
  expect(differencesWith(effects)).toEqual([]);
  for (const [at, one] of effects.entries()) {
    const effect: typeof one.effect = (part, model) => {
      one.effect(part, model);
      stray(model, one.owner);
    };
    const found = differencesWith(effects.with(at, { ...one, effect }));
    expect({ of: one.what, isFound: found.length > 0 }).toEqual({ of: one.what, isFound: true });
  }
});
