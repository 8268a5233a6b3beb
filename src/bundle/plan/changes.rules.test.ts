import { byName, present, project, release } from '../../../fixtures/world/bundles/comparableRelease.ts';
import type { Manifest } from '../../../machines/types.ts';
import { changesOf, type ComparableRelease, hasSameContent } from './changes.rules.ts';

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

  it('is unchanged by a variable if it sets a value for that name', () => {
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
    const { services } = changesOf(release('services: {a: {}}'), [], {
      ...present(null, []),
      applied: null,
      engine: null,
    });
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

const secret = { var: 'V', path: 'deployd/data/eu-1/see/x', field: 'value', version: 1 };
const manifest: Manifest = {
  ...{ schema: 1, name: 'shop', env: 'eu-1', version: '1', sequence: 1, production: false },
  ...{ compose: ['compose.yaml'], profiles: [], disk_need_bytes: null, registries: [], variables: {} },
  agent: { allow_privileged: false, allow_rollback: false },
  secrets: [secret],
};
const file = (path: string, sha256 = 'a', executable = false) => ({ path, size: 1, sha256, executable });
const files = [file('compose.yaml'), file('manifest.json')];
const contents = { files, directories: ['conf'] };

it.each<[string, Partial<Manifest>, Partial<typeof contents>]>([
  ['the same', {}, {}],
  ['sequence and version text', { sequence: 2, version: '2' }, {}],
  ['versions of secrets', { secrets: [{ ...secret, version: null }] }, {}],
  ['the file of the manifest', {}, { files: [file('compose.yaml'), file('manifest.json', 'b')] }],
  ['the order of files', {}, { files: files.toReversed() }],
])('is the same content with another: %s', (_, changes, more) => {
  const other = { manifest: { ...manifest, ...changes }, contents: { ...contents, ...more } };
  expect(hasSameContent({ manifest, contents }, other)).toBe(true);
});

it.each<[string, Partial<Manifest>, Partial<typeof contents>]>([
  ['file', {}, { files: [file('compose.yaml', 'b'), file('manifest.json')] }],
  ['mode', {}, { files: [file('compose.yaml', 'a', true), file('manifest.json')] }],
  ['further file', {}, { files: [...files, file('x')] }],
  ['directory', {}, { directories: ['data'] }],
  ['path of a secret', { secrets: [{ ...secret, path: 'deployd/data/eu-1/see/y' }] }, {}],
  ['flag', { agent: { allow_privileged: true, allow_rollback: false } }, {}],
  ['variable', { variables: { A: '1' } }, {}],
])('is other content with another: %s', (_, changes, more) => {
  const other = { manifest: { ...manifest, ...changes }, contents: { ...contents, ...more } };
  expect(hasSameContent({ manifest, contents }, other)).toBe(false);
});
