import { parseComposeFile } from '../compose/document/composeFile.ts';
import { changesOf, type PresentState, type ComparableRelease } from './changes.ts';

const project = 'deployd-eu-1';

interface ReleaseFacts {
  version?: string;
  digests?: object;
  variables?: Record<string, string>;
  texts?: Record<string, string>;
  profiles?: string[];
}

function release(
  text: string,
  { version = '1', profiles = [], digests = {}, variables = {}, texts = {} }: ReleaseFacts = {},
): ComparableRelease {
  const parsed = parseComposeFile('compose.yaml', text);
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ text }) => text).join('\n'));
  const entries = Object.entries(digests) as [string, string][];
  const facts = { variables, digests: new Map(entries), texts: new Map(Object.entries(texts)) };
  return { sha: version.repeat(64), version, profiles, files: [parsed.file], ...facts };
}

function present(before: ComparableRelease | null, services: string[], volumes: string[] = []): PresentState {
  return { project, applied: { release: before }, engine: { services: new Set(services), volumes } };
}

/** The change of the service `web`, defined by `before`, when `after` is applied. */
function changeOfWeb(before: ComparableRelease, after: ComparableRelease, secrets: string[] = []): string | undefined {
  const { services } = changesOf(after, secrets, present(before, ['web']));
  return services.find(({ name }) => name === 'web')?.change;
}

const web = (more: string) => `services: {web: {image: app, ${more}}}`;

describe('a service', () => {
  it.each([
    [
      'is unchanged where only lines and the order of keys differ',
      web('user: a, tty: true'),
      `\n${web('tty: true, user: a')}`,
      'unchanged',
    ],
    [
      'is unchanged where another one differs',
      web('user: a'),
      'services: {web: {image: app, user: a}, db: {image: x}}',
      'unchanged',
    ],
    ['is changed by another definition', web('user: a'), web('user: b'), 'changed'],
    [
      'is changed by what it extends',
      'services: {web: {extends: b}, b: {user: a}}',
      'services: {web: {extends: b}, b: {user: b}}',
      'changed',
    ],
    [
      'is changed by its network',
      `${web('networks: [n]')}\nnetworks: {n: {}}`,
      `${web('networks: [n]')}\nnetworks: {n: {internal: true}}`,
      'changed',
    ],
    [
      'is changed by a network that it maps to options',
      `${web('networks: {n: }')}\nnetworks: {n: {}}`,
      `${web('networks: {n: }')}\nnetworks: {n: {internal: true}}`,
      'changed',
    ],
    [
      'is unchanged by another network',
      `${web('networks: [n]')}\nnetworks: {n: {}}`,
      `${web('networks: [n]')}\nnetworks: {n: {}, m: {}}`,
      'unchanged',
    ],
    [
      'is changed by the default network',
      web('tty: true'),
      `${web('tty: true')}\nnetworks: {default: {internal: true}}`,
      'changed',
    ],
    [
      'is unchanged by a volume with the name of the default network',
      web('tty: true'),
      `${web('tty: true')}\nvolumes: {default: {driver: x}}`,
      'unchanged',
    ],
    [
      'is changed by its config',
      `${web('configs: [c]')}\nconfigs: {c: {content: a}}`,
      `${web('configs: [c]')}\nconfigs: {c: {content: b}}`,
      'changed',
    ],
    [
      'is changed by the version that it names',
      web('user: "$DEPLOYD_VERSION"'),
      web('user: "$DEPLOYD_VERSION"'),
      'changed',
    ],
    [
      'is changed by the version that it names with a default',
      web('user: "${DEPLOYD_VERSION:-x}"'),
      web('user: "${DEPLOYD_VERSION:-x}"'),
      'changed',
    ],
    [
      'is changed by the sha that it names',
      web('user: "${DEPLOYD_SHA:-x}"'),
      web('user: "${DEPLOYD_SHA:-x}"'),
      'changed',
    ],
    ['is unchanged by the variable of the env', web('user: $DEPLOYD_ENV'), web('user: $DEPLOYD_ENV'), 'unchanged'],
    [
      'is changed by mounting a path of the release, which is new',
      web('volumes: ["./conf:/c"]'),
      web('volumes: ["./conf:/c"]'),
      'changed',
    ],
    [
      'is changed by mounting it in another layer, or in the long form',
      'services: {web: {extends: b}, b: {volumes: [{type: bind, source: ./conf, target: /c}]}}',
      'services: {web: {extends: b}, b: {volumes: [{type: bind, source: ./conf, target: /c}]}}',
      'changed',
    ],
    [
      'is changed by a bind mount without a source, which is refused',
      web('volumes: [{type: bind, target: /c}]'),
      web('volumes: [{type: bind, target: /c}]'),
      'changed',
    ],
    [
      'is unchanged by a mount without a source, and by a volume in the long form',
      web('volumes: [{type: tmpfs, target: /t}, {type: volume, source: data, target: /d}]'),
      web('volumes: [{type: tmpfs, target: /t}, {type: volume, source: data, target: /d}]'),
      'unchanged',
    ],
    [
      'is unchanged by a volume',
      web('volumes: ["data:/d", {type: bind, source: /etc, target: /e}]'),
      web('volumes: ["data:/d", {type: bind, source: /etc, target: /e}]'),
      'unchanged',
    ],
  ])('%s', (_title, before, after, change) => {
    expect(changeOfWeb(release(before), release(after, { version: '2' }))).toBe(change);
  });

  it('is changed by the content of its files, and of no others', () => {
    const text = `${web('env_file: a.env, configs: [c]')}\nconfigs: {c: {file: conf}}`;
    const digests = { 'a.env': '1', 'conf/app': '1', 'conf/x': '1', other: '1' };
    const changeWith = (changed: object) =>
      changeOfWeb(release(text, { digests }), release(text, { version: '2', digests: { ...digests, ...changed } }));
    expect(changeWith({ other: '2' })).toBe('unchanged');
    const ownFiles = [{ 'a.env': '2' }, { 'conf/app': '2' }, { 'conf/x': '2' }, { 'conf/new': '1' }];
    expect(ownFiles.map(changeWith)).toEqual(['changed', 'changed', 'changed', 'changed']);
  });

  it('is unknown when it uses a secret, whose value may be new', () => {
    const text = web('environment: {P: "${PASSWORD:-none}"}');
    expect(changeOfWeb(release(text), release(text, { version: '2' }), ['PASSWORD'])).toBe('unknown');
    expect(changeOfWeb(release(text), release(text, { version: '2' }), ['PASS'])).toBe('unchanged');
    expect(changeOfWeb(release(text), release(text), ['PASSWORD'])).toBe('unchanged');
  });

  it.each([
    ['${LEVEL}', web('user: "${LEVEL}"'), {}],
    ['$LEVEL', web('user: x$LEVEL'), {}],
    ['a default', web('user: "${LEVEL:-info}"'), {}],
    ['an alternative', web('user: "${LEVEL:+x}"'), {}],
    ['a nested default', web('user: "${OTHER:-${LEVEL}}"'), {}],
    ['a name alone in a list', web('environment: [LEVEL]'), {}],
    ['a name alone in a mapping', web('environment: {LEVEL: }'), {}],
    ['its config', `${web('configs: [c]')}\nconfigs: {c: {environment: LEVEL}}`, {}],
    ['its env file', web('env_file: a.env'), { 'a.env': 'A=${LEVEL}\n' }],
  ])('is changed by another value of a variable that it uses as %s', (_how, text, texts) => {
    const before = release(text, { variables: { LEVEL: 'info', REST: '1' }, texts });
    const after = (variables: Record<string, string>) => release(text, { version: '2', variables, texts });
    expect(changeOfWeb(before, after({ LEVEL: 'debug', REST: '1' }))).toBe('changed');
    expect(changeOfWeb(before, after({ REST: '1' }))).toBe('changed');
    expect(changeOfWeb(before, after({ LEVEL: 'info', REST: '2', NEW: '' }))).toBe('unchanged');
  });

  it('is unchanged by a variable of the name that it gives a value of its own', () => {
    const text = web('environment: {LEVEL: info}, command: LEVEL');
    const [before, after] = [{ variables: { LEVEL: 'a' } }, { version: '2', variables: { LEVEL: 'b' } }];
    expect(changeOfWeb(release(text, before), release(text, after))).toBe('unchanged');
  });

  it('is new or removed compared with the containers, else with the applied release', () => {
    const [before, after] = [
      release('services: {a: {}, b: {}}'),
      release('services: {b: {}, c: {}}', { version: '2' }),
    ];
    const expected = { b: 'unchanged', c: 'new', a: 'removed' };
    expect(byName(changesOf(after, [], present(before, ['a', 'b'])).services)).toEqual(expected);
    expect(byName(changesOf(after, [], { ...present(before, []), engine: null }).services)).toEqual(expected);
    expect(byName(changesOf(after, [], present(before, ['stray'])).services)).toEqual({
      b: 'new',
      c: 'new',
      stray: 'removed',
    });
    expect(byName(changesOf(after, [], present(null, [])).services)).toEqual({ b: 'new', c: 'new' });
    const empty = { ...present(null, []), engine: null };
    expect(byName(changesOf(after, [], empty).services)).toEqual({ b: 'new', c: 'new' });
  });

  it('is changed or unknown when it runs, but not by the applied release', () => {
    const after = release('services: {a: {}}', { version: '2' });
    const applied = release('services: {b: {}}');
    expect(byName(changesOf(after, [], present(applied, ['a'])).services)).toEqual({ a: 'changed' });
    expect(byName(changesOf(after, [], present(null, ['a'])).services)).toEqual({ a: 'unknown' });
  });

  it('is unknown on an unknown host', () => {
    const { services } = changesOf(release('services: {a: {}}'), [], { project, applied: null, engine: null });
    expect(byName(services)).toEqual({ a: 'unknown' });
  });

  it('does not run with a profile that is not chosen, and nor do its image and volume', () => {
    const text = 'services: {a: {image: x, profiles: [p], volumes: ["v:/v"]}}\nvolumes: {v: }';
    const { services, images, volumes } = changesOf(release(text), [], present(null, []));
    expect([services, images, volumes]).toEqual([[], [], []]);
  });

  it('begins to run and ends with the choice of its profile', () => {
    const text = 'services: {a: {image: x}, b: {image: y, profiles: [p]}, c: {image: z, profiles: [q]}}';
    const [before, after] = [release(text, { profiles: ['p', 'r'] }), release(text, { profiles: ['q', 'r'] })];
    const { profiles, services, images } = changesOf(after, [], present(before, ['a', 'b']));
    expect([profiles, services, images].map(byName)).toEqual([
      { q: 'new', r: 'unchanged', p: 'removed' },
      { a: 'unchanged', c: 'new', b: 'removed' },
      { x: 'unchanged', z: 'new', y: 'unused' },
    ]);
    const unknown = changesOf(after, [], { project, applied: null, engine: null });
    expect(byName(unknown.profiles)).toEqual({ q: 'unknown', r: 'unknown' });
  });
});

describe('a volume', () => {
  const after = release(
    'services: {a: {volumes: ["data:/d", {type: volume, source: logs, target: /l}]}}\nvolumes: {data: , logs: {name: deployd-eu-1_x}, idle: }',
  );

  it('is new, unchanged or unused', () => {
    const there = ['deployd-eu-1_data', 'deployd-eu-1_old', 'deployd-eu-10_data', 'deployd-eu-1_idle'];
    expect(byName(changesOf(after, [], present(null, [], there)).volumes)).toEqual({
      'deployd-eu-1_data': 'unchanged',
      'deployd-eu-1_x': 'new',
      'deployd-eu-1_old': 'unused',
      'deployd-eu-1_idle': 'unused',
    });
  });

  it('is unknown without an engine', () => {
    const { volumes } = changesOf(after, [], { ...present(null, []), engine: null });
    expect(byName(volumes)).toEqual({ 'deployd-eu-1_data': 'unknown', 'deployd-eu-1_x': 'unknown' });
  });
});

describe('an image', () => {
  const before = release(
    'services: {a: {image: app:1}, b: {image: "db:${TAG}"}, c: {image: old}, d: {image: "v:$DEPLOYD_VERSION"}}',
  );
  const after = release(
    'services: {a: {image: app:1}, b: {image: "db:${TAG}"}, c: {image: new}, d: {image: "v:$DEPLOYD_VERSION"}}',
    { version: '2' },
  );

  it('is compared by reference with the applied release', () => {
    expect(byName(changesOf(after, [], present(before, [])).images)).toEqual({
      'app:1': 'unchanged',
      'db:${TAG}': 'unknown',
      new: 'new',
      'v:2': 'new',
      old: 'unused',
      'v:1': 'unused',
    });
  });

  it('is named with the variables of the bundle', () => {
    const text =
      'services: {a: {image: "$REG/a:${TAG:-1}"}, b: {image: "b:${TAG?}${NO-}"}, c: {image: "c:${EMPTY:-1}"}, d: {image: "d:${TAG:+2}"}}';
    const variables = { REG: 'registry.example', TAG: '7', EMPTY: '' };
    const { images } = changesOf(release(text, { variables }), [], present(null, []));
    expect(images.map(({ name }) => name)).toEqual([
      ...['registry.example/a:7', 'b:7${NO-}', 'c:${EMPTY:-1}', 'd:${TAG:+2}'],
    ]);
  });

  it('is none of a service that is built, and names no digest of a directory', () => {
    const text = 'services: {a: {build: .}, b: {image: "v:$DEPLOYD_SHA"}}';
    const { images } = changesOf({ ...release(text), sha: null }, [], present(null, []));
    expect(images).toEqual([{ name: 'v:of a directory', change: 'new' }]);
  });

  it('is unknown when the applied release is', () => {
    const { images } = changesOf(after, [], { ...present(null, []), applied: null });
    expect(new Set(images.map(({ change }) => change))).toEqual(new Set(['unknown']));
  });
});

function byName(changes: { name: string; change: string }[]): Record<string, string> {
  return Object.fromEntries(changes.map(({ name, change }) => [name, change]));
}
