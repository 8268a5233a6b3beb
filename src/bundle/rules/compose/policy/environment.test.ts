import { refusalsOf, serviceWith } from '../../../../../fixtures/corpus/bundleRefusals.ts';
import { printable } from '../../../../protocol/printable.ts';

const refusalsOfEnvFile = async (text: string, { entry = 'e.env', secrets = [] as string[] } = {}) =>
  (await refusalsOf({ compose: serviceWith(`env_file: ${entry}`), files: { 'e.env': text }, secrets })).map(
    ({ code, detail }) => `${code}: ${detail}`,
  );
const raw = '[{path: e.env, format: raw}]';

describe('an env file takes values only from itself and from supplied variables (spec §12.2)', () => {
  const noAssignment = (line: number) => `e.env has a line ${line} that is not NAME=VALUE`;
  it.each<[string, string]>([
    ['A\n', noAssignment(1)],
    ['A=1\nDOCKER_HOST', noAssignment(2)],
    ['A=1\n\nexport PATH\n', noAssignment(3)],
    ['A="x" PATH\n', noAssignment(1)],
    ["A='x\n", noAssignment(1)],
    ['B="a\n\n"\nA="\\0044{HOME}"\n', noAssignment(4)],
    ...['A B=1', '!A=1', 'exportA B=1', '=1', ': 1', 'A!=1'].map((text): [string, string] => [text, noAssignment(1)]),
    ...['A="x"b', "A='x'#b", 'A="\\a"', "A='x'\rc"].map((text): [string, string] => [text, noAssignment(1)]),
    ...['\u2028PATH\n', 'A=\u0000\n', 'A=1\n\u0085', 'A=\u007f', 'A=\u000b', 'A=1\n\ufeffB=1'].map(
      (text): [string, string] => [text, 'e.env has a control character'],
    ),
    ['A=\ufffd\n', 'e.env is not UTF-8'],
    ['\ufffd\ufffdA\0=\0', 'e.env is UTF-16'],
    ['A=${B\n', 'e.env malformed variable in ${B'],
    ['A="${B"\nB=1', 'e.env malformed variable in ${B'],
    ['A=1\nB=$A${\n', 'e.env malformed variable in $A${'],
  ])('is refused: %j', async (text, message) => {
    const policy = (await refusalsOfEnvFile(text)).filter((refusal) => refusal.startsWith('COMPOSE'));
    expect(policy).toEqual([`COMPOSE_REFUSED: service web: env_file ${message} (compose.yaml:5)`]);
  });

  it.each([
    ['PATH\n', `.path ${noAssignment(1)}`],
    ['A=1\n\nA B=1\n', `.path ${noAssignment(3)}`],
    ['A=1\n1A=1', `.path ${noAssignment(2)}`],
    ['x #\nA=1', `.path ${noAssignment(1)}`],
    ['A=\u0000\n', '.path e.env has a control character'],
  ])('is refused with format: raw: %j', async (text, message) => {
    expect(await refusalsOfEnvFile(text, { entry: raw })).toMatchObject([
      `COMPOSE_REFUSED: service web: env_file${message} (compose.yaml:5)`,
    ]);
  });

  it('is refused without a format as in the short form', async () => {
    expect(await refusalsOfEnvFile('A="x"b\n', { entry: '[{path: e.env}]' })).toMatchObject([
      `COMPOSE_REFUSED: service web: env_file.path ${noAssignment(1)} (compose.yaml:5)`,
    ]);
  });

  it.each([
    ['[{path: missing}]', '.path missing is not in the bundle'],
    ['[{path: e.env, format: other}]', '.format other must be raw, or left out'],
    ['[{path: e.env, format: xraw}]', '.format xraw must be raw, or left out'],
    ['[{path: e.env, format: rawx}]', '.format rawx must be raw, or left out'],
    ['[{path: e.env, format: "${X:-raw}"}]', '.format ${X:-raw} must be raw, or left out'],
    ['[{path: missing, required: true}]', '.path missing is not in the bundle'],
    ['[{path: .env, required: false}]', '.path .env is the rendered .env, which holds the values of every secret'],
    ['[{path: conf, required: false}]', '.path conf is a directory'],
    ['/etc/a', ' /etc/a is outside the bundle'],
    ['conf', ' conf is a directory'],
    ['{path: e.env}', ' must be text or a list'],
  ])('is refused as %s', async (entry, message) => {
    expect(await refusalsOfEnvFile('A=1\n', { entry })).toMatchObject([
      `COMPOSE_REFUSED: service web: env_file${message} (compose.yaml:5)`,
    ]);
  });

  it('may be missing when it is not required', async () => {
    expect(await refusalsOfEnvFile('A=1\n', { entry: '[{path: missing, required: false}]' })).toEqual([]);
  });

  it.each([
    ['A=${MISSING}\n', 'MISSING'],
    ['A=$MISSING\n', 'MISSING'],
    ['A="x ${MISSING:?why}"\n', 'MISSING'],
    ['A="a\n${MISSING}\n"\n', 'MISSING'],
    ['A=${DOCKER_HOST:-}\n', 'DOCKER_HOST'],
    ['A=${PATH:+x}\n', 'PATH'],
    ['HOME=/x\nA=${HOME}\n', 'HOME'],
    ['A=${B}\nB=1\n', 'B'],
    ['A=${COMPOSE_PROJECT_NAME-x}\n', 'COMPOSE_PROJECT_NAME'],
  ])('%j leaves %s unresolved', async (text, name) => {
    expect(await refusalsOfEnvFile(text)).toMatchObject([`ENV_INCOMPLETE: unresolved: ${name}`]);
  });

  it.each([
    '# ours\n\n  \nA=1\n',
    'export A=1\r\nB=a b # c\n',
    'A="two\nlines \\"quoted\\" \\$HOME" # c\nB=2',
    "A='$HOME ${MISSING} it'\n",
    'A=$$HOME ${X} ${MISSING:-d}\nB=${A}\n',
    'A=\nB=""\n',
    ' \t# c\n \texport \tA.b-c_1 \t= \t1 \t\r\n \t\nB = "x" \t# c \t\nC = \'x\' \t# c\t\r\nD="x" \t\nE=\'\'\t',
    'A="\\n\\r\\t\\$\\"\\\\"\n_=a#b\n',
    'A="\\${B"\n',
    'A=a=b\nb.c-d=1\n',
  ])('is allowed: %j', async (text) => {
    expect(await refusalsOfEnvFile(text, { secrets: ['X'] })).toMatchObject([]);
  });

  it('may have any text after the names with format: raw', async () => {
    expect(await refusalsOfEnvFile('# c\n \t\r\n\tA.b-1=$HOME ${ "x\n_=\'\n', { entry: raw })).toMatchObject([]);
  });
});

describe('a variable of compose’s own environment (spec §9.1)', () => {
  it.each(['${DOCKER_HOST:-}', '${PATH:-/bin}', '${HOME-}', '${COMPOSE_MENU:+x}', '${A:-${PWD:-}}', '${_:-}'])(
    'is never supplied, even with a default: %s',
    async (text) => {
      const [refusal, ...more] = await refusalsOf({ compose: serviceWith(`hostname: "${text}"`) });
      expect([refusal?.code, more]).toEqual(['ENV_INCOMPLETE', []]);
    },
  );

  const form = 'labels has a line that is not NAME=VALUE without variables or controls';

  it.each<[string, string]>([
    ...[
      'a=${X}',
      '$X=a',
      'a',
      '=a',
      'a b=c',
      '!a=b',
      'a!=b',
      'a="b"c',
      "a='$b'",
      'a="\\n"',
      'a=`b`',
      'a=\u0001',
      ' a=b',
    ].map((line): [string, string] => [line, form]),
    ['a=b\r\nc', form],
    ['a=\ndeployd.x=1', 'deployd.x belongs to compose or deployd'],
  ])('is not supplied to a label file either, nor is any other text than labels: %j', async (text, message) => {
    const compose = serviceWith('label_file: [labels]');
    expect(await refusalsOf({ compose, files: { labels: `${text}\n` }, secrets: ['X'] })).toMatchObject([
      { code: 'COMPOSE_REFUSED', detail: `service web: label_file ${printable(message)} (compose.yaml:5)` },
    ]);
  });

  it.each(['label_file: l', 'label_file: [l, l]'])('is allowed: %s', async (line) => {
    const files = { l: '# a $X\r\n\n \t \n  # "b"\nA.b/c-1_=d = e # f\r\ng=\nh="i j" \nk=\'l"\'\n' };
    expect(await refusalsOf({ compose: serviceWith(line), files })).toMatchObject([]);
  });

  it.each([
    ['missing', 'missing is not in the bundle'],
    ['conf', 'conf is a directory'],
    ['~/a', '~/a is outside the bundle'],
  ])('a label file must be in the bundle: %s', async (path, message) => {
    expect(await refusalsOf({ compose: serviceWith(`label_file: ${path}`) })).toMatchObject([
      { code: 'COMPOSE_REFUSED', detail: `service web: label_file ${message} (compose.yaml:5)` },
    ]);
  });
});
