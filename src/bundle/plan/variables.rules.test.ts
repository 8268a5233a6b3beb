import type { Manifest } from '../../../machines/types.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { variablesOf } from '../compose/variables.rules.ts';
import { validateSecretPaths } from './references.rules.ts';
import {
  knownVariables,
  shownSecrets,
  unresolvedVariables,
  validateVariables,
  withKnownVariables,
} from './variables.rules.ts';
import { mergedFilesOf } from '../compose/services.rules.ts';

const uses = (required: string[], optional: string[] = []) => [
  ...required.map((name) => ({ name, required: true })),
  ...optional.map((name) => ({ name, required: false })),
];

describe('variables of a text', () => {
  it.each([
    ['plain', [], []],
    ['$A', ['A'], []],
    ['$A$B', ['A', 'B'], []],
    ['${A}', ['A'], []],
    ['x${_a1}y', ['_a1'], []],
    ['$A-b', ['A'], []],
    ['${A:?e}', ['A'], []],
    ['${A?e}', ['A'], []],
    ['${A?}', ['A'], []],
    ['${A:-d}', [], ['A']],
    ['${A-d}', [], ['A']],
    ['${A:-}', [], ['A']],
    ['${A:+a}', [], ['A']],
    ['${A+a}', [], ['A']],
    ['${A:-b:?c}', [], ['A']],
    ['${A:-{"x": 1}}', [], ['A']],
    ['${A:-{}}', [], ['A']],
    ['{"a": ${A:-{}}, "b": {}}', [], ['A']],
    ['${A:-{}', [], ['A']],
    ['${A:-}}', [], ['A']],
    ['$$A', [], []],
    ['$${A}', [], []],
    ['$$$A', ['A'], []],
    ['$$$$A', [], []],
    ['$5 $ $(x) a$', [], []],
    ['{$A}', ['A'], []],
    ['$ſ', ['ſ'], []],
    ['${\u212a}', ['\u212a'], []],
  ])('%s', (text, required, optional) => {
    expect(variablesOf(text)).toEqual({ uses: uses(required, optional) });
  });

  it.each([
    ['${A:-${B}}', [false, true]],
    ['${A:-$B}', [false, true]],
    ['${A:+${B:-c}}', [false, false]],
    ['${A:?${B}}', [true, true]],
    ['${A:-${B:-${C}}}', [false, false, true]],
    ['${A:-$$B}${C}', [false, true]],
    ['${A:-{${B}}}', [false, true]],
    ['${A:-{{${B}}}}', [false, true]],
    ['${A:-b\u2028${B}}', [false, true]],
    ['${A:-$${B}} ${C:-}', [false, false]],
  ])('nested variables are required by their own syntax: %s', (text, required) => {
    expect(variablesOf(text).uses.map((use) => use.required)).toEqual(required);
    expect(variablesOf(text).error).toBeUndefined();
  });

  it.each([
    '${}',
    '${',
    '${A',
    '${A B}',
    '${A.B}',
    '${1}',
    '${A:=x}',
    '${A:0:1}',
    '${A:-b',
    '${A:-${B}',
    '${A:-x\ny}',
    '${-a}',
    '$${${A',
    '${A:-{} ${B}',
    '${A:-$${}}$$${B}',
    '${A:-{${B}',
    '${A:-$${B} ${C}',
  ])('%s is malformed', (text) => {
    expect(variablesOf(text).error).toEqual(expect.any(String));
  });

  it('are limited to a hundred on a line, because of the time compose takes', () => {
    expect(variablesOf('${A:-b}'.repeat(100)).uses).toHaveLength(100);
    expect(variablesOf('${A:-'.repeat(100) + '}'.repeat(100)).uses).toHaveLength(100);
    expect(variablesOf('${A:-b}\n'.repeat(500)).uses).toHaveLength(500);
    expect(variablesOf('${A:-b}'.repeat(101)).error).toMatch(/^more than 100 variables on a line/);
  });
});

const text = `
x-unused: $EXTENSION
name: deployd-\${NAMED:-x}
services:
  web:
    image: app:\${TAG:?which}
    environment:
      BARE:
      GIVEN: "\${VALUE}"
      DEFAULTED: "\${OPTIONAL:-\${NESTED}}"
      EMPTY: ""
    post_start: [{command: [a], environment: [HOOKED]}]
    labels: {"$KEY": x} # $COMMENT
  job:
    profiles: [never]
    image: app
    environment: [LISTED, "SET=1", "BLANK="]
    command: echo $$ESCAPED \${ALTERNATIVE:+yes} \${DEPLOYD_SHA}
configs: {c: {environment: OF_CONFIG}, d: {content: "$IN_CONTENT"}}
secrets: {s: {environment: OF_SECRET}}
`;

function filesOf(...texts: string[]) {
  return texts.flatMap((one) => {
    const parsed = parseComposeFile('compose.yaml', one);
    return 'file' in parsed ? [parsed.file] : [];
  });
}

const needed = [
  'BARE',
  'EXTENSION',
  'HOOKED',
  'IN_CONTENT',
  'LISTED',
  'NESTED',
  'OF_CONFIG',
  'OF_SECRET',
  'TAG',
  'VALUE',
];

const readable = (...texts: string[]) => ({
  project: mergedFilesOf(filesOf(...texts)),
  texts: new Map<string, string>(),
});

describe('variables of a bundle', () => {
  it('are found in every value of every file, and where compose reads bare names', () => {
    expect(unresolvedVariables(readable(text), new Set(['DEPLOYD_SHA']))).toEqual(needed);
    expect(unresolvedVariables(readable('a: 1', 'b: $Z'), new Set())).toEqual(['Z']);
  });

  it('are found in hooks, and are not bare where compose interpolates a name', () => {
    const hooks = '{pre_start: [{environment: [A]}], pre_stop: [{environment: [B, {}]}]}';
    const found = unresolvedVariables(
      readable(`services: {web: ${hooks}}\nsecrets: {s: {environment: "$C"}}`),
      new Set(),
    );
    expect(found).toEqual(['A', 'B', 'C']);
  });

  it('are found in env files, except those that an earlier line sets', () => {
    const envFiles = '[app.env, {path: raw.env, format: raw}, absent.env]';
    const texts = new Map([
      ['app.env', 'A=1\nB=$A $C $D\nD=$B\nDEPLOYD_X=1\nE=$DEPLOYD_X\n'],
      ['raw.env', 'A=$RAW\n'],
    ]);
    const project = mergedFilesOf(filesOf(`services: {web: {env_file: ${envFiles}}}`));
    expect(unresolvedVariables({ project, texts }, new Set())).toEqual(['C', 'D', 'DEPLOYD_X']);
  });

  it.each(needed)('are reported when they are missing: %s', (name) => {
    const supplied = new Set([...needed, 'DEPLOYD_SHA'].filter((one) => one !== name));
    expect(unresolvedVariables(readable(text), supplied)).toEqual([name]);
  });

  it('that name time zone and language are as any other', () => {
    const found = (written: string) => unresolvedVariables(readable(`services: {web: {${written}}}`), new Set());
    expect(found('environment: {TZ: "${TZ:-UTC}", LANG: "${LANG-C}", LC_ALL: "${LC_ALL:-}"}')).toEqual([]);
    expect(found('environment: [TZ, LANG], user: $LC_ALL')).toEqual(['LANG', 'LC_ALL', 'TZ']);
  });

  it('come from the manifest, its secrets other than registry logins, and the agent', () => {
    const manifest = {
      variables: { LEVEL: 'info', EMPTY: '' },
      secrets: ['A', 'B', 'USER_A', 'PASS_A'].map((name) => ({ var: name })),
      registries: [{ host: 'r', username_var: 'USER_A', password_var: 'PASS_A' }],
    } as unknown as Manifest;
    const own = '$DEPLOYD_ENV $DEPLOYD_SHA $DEPLOYD_VERSION';
    expect(validateVariables(readable(`a: $A $B $LEVEL $EMPTY ${own}`), manifest)).toBeNull();
    expect(validateVariables(readable('a: $PASS_A $C $B $A $C', 'b: $USER_A'), manifest)).toEqual({
      code: 'ENV_INCOMPLETE',
      detail: 'unresolved: C, PASS_A, USER_A',
      faults: [
        { text: 'unresolved: C, PASS_A, USER_A', cure: expect.stringContaining('variables or secrets') as string },
      ],
    });
  });
});

it.each([
  ['web: {environment: {A: $DB, B: x}}', ['web: DB']],
  ['web: {environment: [DB, "K=${KEY:-x}"]}', ['web: DB, KEY']],
  ['web: {command: [a, "--password=${DB}"], labels: {a: b}}', ['web: DB']],
  ['web: {env_file: app.env}', ['web: KEY']],
  ['web: {extends: base}, base: {environment: {A: $DB}}', ['web: DB', 'base: DB']],
  ['web: {environment: {A: $OTHER, B: $$DB}, secrets: [s]}', []],
])('in a swarm, services show: %s', (services, shown) => {
  const text = `services: {${services}}\nsecrets: {s: {environment: DB}}\nconfigs: {c: {content: $KEY}}\n`;
  const parsed = parseComposeFile('c.yaml', text);
  const sources = {
    project: mergedFilesOf('file' in parsed ? [parsed.file] : []),
    texts: new Map([['app.env', 'A=$KEY\n']]),
  };
  expect(shownSecrets(sources, ['KEY', 'DB'])).toEqual(
    shown.map((each) => `service ${each}, to whoever may inspect services`),
  );
});

function refusalOf(...paths: string[]) {
  const secrets = paths.map((path, index) => ({ var: `V${index}`, path, field: 'f', version: null }));
  return validateSecretPaths({ env: 'eu-1', secrets } as unknown as Manifest);
}

describe('secret paths', () => {
  it.each([
    'deployd/data/eu-1/see/db',
    'deployd/data/eu-1/see/a/b_c-d.e',
    'deployd/data/eu-1/see/..a',
    'deployd/data/eu-1/see/a@b',
  ])('%s is below the branch of the env', (path) => {
    expect(refusalOf(path)).toBeNull();
  });

  it.each([
    '',
    'deployd/data/eu-2/see/db',
    'deployd/data/eu-1/see',
    'deployd/data/eu-1/see/',
    'deployd/data/eu-1/seed/db',
    'deployd/data/eu-1/db',
    'deployd/metadata/eu-1/see/db',
    'deployd/eu-1/see/db',
    '/deployd/data/eu-1/see/db',
    'v1/deployd/data/eu-1/see/db',
    'Deployd/data/eu-1/see/db',
    'deployd//data/eu-1/see/db',
    'deployd/data/eu-1/see/../../eu-2/see/db',
    'deployd/data/eu-1/see/..',
    'deployd/data/eu-1/see/a/../b',
    'deployd/data/eu-1/see/./a',
    'deployd/data/eu-1/see/a/.',
    'deployd/data/eu-1/see/a//b',
    'deployd/data/eu-1/see/a/',
    'deployd/data/eu-1/see/%2e%2e/b',
    'deployd/data/eu-1/see/a%2fb',
    'deployd/data/eu-1/see/a%00',
    'deployd/data/eu-1/see/..\\..\\eu-2',
    'deployd/data/eu-1/see/a?version=1',
    'deployd/data/eu-1/see/a#b',
    'deployd/data/eu-1/see/a;b',
    'deployd/data/eu-1/see/a b',
    'deployd/data/eu-1/see/a\nb',
    'deployd/data/eu-1/see/a\n',
    'deployd/data/eu-1/see/\u0000',
    'deployd/data/eu-1/see/\uff0e\uff0e/x',
  ])('%j is refused', (path) => {
    expect(refusalOf(path)?.code).toBe('SECRET_PATH_REFUSED');
  });

  it('are all reported, with their variables and the allowed paths', () => {
    expect(
      refusalOf('x', 'deployd/data/eu-1/see/ok', 'deployd/data/eu-1/see/a/../b', 'deployd/data/eu-1/see/a b')?.detail,
    ).toBe(
      'V0: x leads elsewhere; V2: deployd/data/eu-1/see/a/../b has an empty, "." or ".." part; V3: deployd/data/eu-1/see/a b has a character other than letters, digits and ._~@+=:,-',
    );
  });
});

const known = knownVariables({ sha: null, version: '3', variables: { A: '1', EMPTY: '' } });

it.each([
  ['x:$A', 'x:1'],
  ['x:${A}', 'x:1'],
  ['x:${A:-2}${A-2}${A?}${A:?no}', 'x:1111'],
  ['x:${A:-}', 'x:1'],
  ['x:${EMPTY}', 'x:'],
  ['x:$EMPTY', 'x:'],
  ['x:${EMPTY-2}', 'x:'],
  ['x:${EMPTY:-2}', 'x:${EMPTY:-2}'],
  ['x:${EMPTY:?no}', 'x:${EMPTY:?no}'],
  ['x:${A:+2}', 'x:${A:+2}'],
  ['x:${A:-$B}', 'x:${A:-$B}'],
  ['x:$NONE${NONE:-2}', 'x:$NONE${NONE:-2}'],
  ['x:$DEPLOYD_VERSION:$DEPLOYD_SHA', 'x:3:of a directory'],
  ['x:$A_B', 'x:$A_B'],
])('%s is %s', (image, expected) => {
  expect(withKnownVariables(image, known)).toBe(expected);
});

it('an archive is named by its digest', () => {
  expect(knownVariables({ sha: 'a1', version: '3', variables: {} }).get('DEPLOYD_SHA')).toBe('a1');
});
