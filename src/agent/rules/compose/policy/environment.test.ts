import { refusalsOf, serviceWith } from '../../../../../fixtures/corpus/bundleRefusals.ts';

const refusalsOfEnvFile = async (text: string, { entry = 'e.env', secrets = [] as string[] } = {}) =>
  (await refusalsOf({ compose: serviceWith(`env_file: ${entry}`), files: { 'e.env': text }, secrets })).map(
    ({ code, detail }) => `${code}: ${detail}`,
  );
const raw = '[{path: e.env, format: raw}]';

describe('an env file takes values only from itself and from supplied variables (spec §12.2)', () => {
  it.each([
    ['A\n', 'e.env'],
    ['A=1\nDOCKER_HOST', 'e.env'],
    ['A=1\nexport PATH\n', 'e.env'],
    ['A="x" PATH\n', 'e.env'],
    ["A='x\n", 'e.env'],
    ['A="\\0044{HOME}"\n', 'e.env'],
    ['A B=1\n', 'e.env'],
    ['\u2028PATH\n', 'e.env'],
    ['A: 1\n', 'e.env'],
    ['A=\u0000\n', 'e.env'],
    ['A=${B\n', 'e.env'],
    ['PATH\n', raw],
    ['A B=1\n', raw],
    ['A=1\n', '[{path: e.env, format: other}]'],
    ['A=1\n', '[{path: e.env, format: "${X:-raw}"}]'],
  ])('is refused: %j as %s', async (text, entry) => {
    expect(await refusalsOfEnvFile(text, { entry })).toEqual([
      expect.stringMatching(/^COMPOSE_REFUSED: service web: env_file/),
    ]);
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
    expect(await refusalsOfEnvFile(text)).toEqual([`ENV_INCOMPLETE: unresolved: ${name}`]);
  });

  it.each([
    '# ours\n\n  \nA=1\n',
    'export A=1\r\nB=a b # c\n',
    'A="two\nlines \\"quoted\\" \\$HOME" # c\nB=2',
    "A='$HOME ${MISSING} it'\n",
    'A=$$HOME ${X} ${MISSING:-d}\nB=${A}\n',
    'A=\nB=""\n',
    'A=a=b\nb.c-d=1\n',
  ])('is allowed: %j', async (text) => {
    expect(await refusalsOfEnvFile(text, { secrets: ['X'] })).toEqual([]);
  });

  it('may have any text after the names with format: raw', async () => {
    expect(await refusalsOfEnvFile('# c\nA=$HOME ${ "x\nB=\'\n', { entry: raw })).toEqual([]);
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

  it.each(['label_file: e.env'])('is not supplied to a label file either: %s', async (line) => {
    const files = { 'e.env': 'a=${X}\n' };
    const refusals = await refusalsOf({ compose: serviceWith(line), files, secrets: ['X'] });
    expect(refusals.map(({ code }) => code)).toEqual(['COMPOSE_REFUSED']);
  });
});
