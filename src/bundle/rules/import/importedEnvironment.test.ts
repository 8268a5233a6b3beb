import { parse } from 'yaml';
import { expectImport, importedBundle, resultOf, type ProjectFiles } from '../../../../fixtures/import/importing.ts';

const environmentOf = (service: string, files: ProjectFiles = {}) => {
  const { a, variables, secrets } = resultOf({ 'compose.yaml': `services: {a: {image: x, ${service}}}\n`, ...files });
  return { environment: (a as { environment?: unknown }).environment, variables, secrets };
};

describe('what an environment sets', () => {
  it.each<[string, ProjectFiles, unknown, string[]]>([
    ['environment: [TOKEN=abc, A=b=c, TOKEN2]', {}, ['TOKEN=${TOKEN}', 'A=b=c'], ['TOKEN']],
    ['environment: {TOKEN: abc, A: "b=c", LIST: [x]}', {}, { TOKEN: '${TOKEN}', A: 'b=c', LIST: ['x'] }, ['TOKEN']],
    ['environment: {TOKEN: "", B: }', {}, { TOKEN: '' }, []],
    ['environment: [TOKEN=]', {}, ['TOKEN='], []],
    ['environment: {TOKEN: "$OTHER"}', { '.env': 'OTHER=1' }, { TOKEN: '$OTHER' }, []],
    ['environment: {TOKEN: "x$OTHER"}', { '.env': 'OTHER=1' }, { TOKEN: 'x$OTHER' }, []],
    ['environment: [{A: b}, B]', {}, [{ A: 'b' }], []],
    ['environment: {TOKEN: "a$$b"}', {}, { TOKEN: '${TOKEN}' }, ['TOKEN']],
    ['environment: {URL: "http://u:hunter2@$HOST/"}', { '.env': 'HOST=h' }, { URL: '${URL}' }, ['URL']],
    ['environment: {URL: "http://u:$TOKEN@h/"}', {}, { URL: 'http://u:$TOKEN@h/' }, ['TOKEN']],
    ['environment: {API_TOKEN: }', {}, { API_TOKEN: null }, ['API_TOKEN']],
    ['environment: {PATH: , HOME: }', { '.env': 'PATH=/a$$b' }, { PATH: '/a$$b' }, []],
    ['environment: [PATH, HOME]', { '.env': "PATH='/a$b'" }, ['PATH=/a$$b'], []],
    ['environment: {A: , B: 1}', { '.env': 'A=1' }, { A: null, B: 1 }, []],
  ])('%s', (service, files, environment, secrets) => {
    expect(environmentOf(service, files)).toMatchObject({ environment, secrets });
  });

  it('keeps one value for a secret that services share', () => {
    const text =
      'x-e: &e {TOKEN: abc}\nservices: {a: {image: x, environment: *e}, b: {image: x, environment: {<<: *e, C: 1}}}\n';
    const found = resultOf({ 'compose.yaml': text });
    expect(found).toMatchObject({ a: { environment: { TOKEN: '${TOKEN}' } }, secrets: ['TOKEN'] });
    expect(found.changes).toEqual(['services a, b: environment.TOKEN: is ${TOKEN} now']);
  });

  it('names a second secret after the first of the services that share it', () => {
    const text =
      'x-b: &b {image: x, environment: [KEY=two]}\nservices: {a: {image: x, environment: [KEY=one]}, b-1: *b, c: *b}\n';
    expect(resultOf({ 'compose.yaml': text })).toMatchObject({ secrets: ['B_1_KEY', 'KEY'] });
  });
});

describe('an env file', () => {
  it.each<[string, ProjectFiles, unknown]>([
    ['env_file: .env', { '.env': 'A=1\nB=$A\n' }, { A: '${A}', B: '${B}' }],
    ['env_file: sub/.env', { 'sub/.env': 'A=1\nB=$A\n' }, { A: '1', B: '$A' }],
    ['env_file: a.env', { 'a.env': 'A=1\n!\nB=2\n' }, { A: '1', B: '2' }],
    ['env_file: [{path: a.env, format: raw}]', { 'a.env': 'TOKEN=a$b\nB=$A\n' }, { TOKEN: '${TOKEN}', B: '$$A' }],
    ['env_file: [a.env, b.env]', { 'a.env': 'A=1\nTOKEN=x\n', 'b.env': 'A=2\n' }, { TOKEN: '${TOKEN}' }],
    ['env_file: [b.env, a.env]', { 'a.env': 'A=1\nTOKEN=x\n', 'b.env': 'A=2\n' }, { A: '1', TOKEN: '${TOKEN}' }],
    ['env_file: .env, environment: [A]', { '.env': 'A=1\nB=2\n' }, ['A', 'B=${B}']],
    ['env_file: .env, environment: [AB=1]', { '.env': 'AB=1\nB=2\n' }, ['AB=1', 'B=${B}']],
    ['env_file: .env, environment: [{A: b}]', { '.env': 'B=2\n' }, [{ A: 'b' }, 'B=${B}']],
    ['env_file: .env, environment: text', { '.env': 'B=2\n' }, 'text'],
    ['env_file: .env, environment: {A: 3}', { '.env': 'A=1\nB=2\n' }, { A: 3, B: '${B}' }],
    ['env_file: .env', { '.env': 'A.B=1\nPATH=/x\nA=1\n' }, { 'A.B': '1', A: '${A}', PATH: '/x' }],
  ])('becomes environment: %s of %j', (service, files, environment) => {
    expect(environmentOf(service, files).environment).toEqual(environment);
  });

  it.each<[string, ProjectFiles, unknown, string[]]>([
    ['env_file: a.env', { 'a.env': 'A=1\n' }, 'a.env', ['a.env']],
    ['env_file: ./sub/../a.env', { 'a.env': 'A=1\n' }, './sub/../a.env', ['a.env']],
    ['env_file: ../a.env', { '../a.env': 'A=$V\n' }, 'parent/a.env', ['parent/a.env']],
    [
      'env_file: [{path: ../a.env}, .env]',
      { '../a.env': 'A=1\n', '.env': '' },
      [{ path: 'parent/a.env' }],
      ['parent/a.env'],
    ],
    ['env_file: [{path: a.env, format: raw}]', { 'a.env': 'A=$x\n' }, [{ path: 'a.env', format: 'raw' }], ['a.env']],
    ['env_file: .env', { '.env': '' }, undefined, []],
    ['env_file: [.env]', { '.env': 'A=1\n' }, undefined, []],
    ['env_file: []', {}, [], []],
  ])('stays as it is: %s of %j', (service, files, expected, copies) => {
    const found = resultOf({ 'compose.yaml': `services: {a: {image: x, ${service}}}\n`, ...files });
    expect((found.a as { env_file?: unknown }).env_file).toEqual(expected);
    expect(found.copies).toEqual(copies);
  });

  it.each(['false', 'no', 'OFF', '"n"'])('may be missing with required: %s', (word) => {
    expectImport([`{image: x, env_file: [{path: a, required: ${word}}, b]}`, { b: '' }], {
      a: { env_file: ['b'] },
      changes: [/a is left out/],
    });
  });

  it.each(['{path: a, required: "nofalse"}', '{path: a, required: falsey}', '/etc/a', '~/a', '$NONE', '{path: a}'])(
    'is left open: %s',
    (entry) => {
      const found = resultOf({
        'compose.yaml': `services: {a: {image: x, env_file: [${entry}]}}\n`,
        'etc/a': '',
        '~/a': '',
      });
      expect(found.undecided).toContainEqual(expect.stringMatching(/^service a: env_file: .* is not there → make it/));
      expect(found.copies).toEqual([]);
      expect(found.a).toHaveProperty('env_file.length', 1);
    },
  );

  it('that comes along brings its variables', () => {
    expectImport(['{image: x, env_file: a.env}', { 'a.env': 'A=$B${DB_PASSWORD}\n', '.env': 'B=1\n' }], {
      ...{ variables: { B: '1' }, secrets: ['DB_PASSWORD'], copies: ['a.env'] },
    });
  });

  it.each([
    'x-b: &b {image: x, environment: {A: 1}}\nservices: {a: {<<: *b, env_file: .env}, c: *b}\n',
    'services: {a: {image: x, env_file: .env, environment: &e {A: 1}}, c: {image: x, environment: *e}}\n',
    'services: {a: {image: x, env_file: .env, environment: {A: 1}}, c: {image: x, environment: {A: 1}}}\n',
    'services: {a: {image: x, environment: {A: 1}, env_file: .env}, c: {image: x, environment: {A: 1, B: 2}}}\n',
  ])('adds to no environment of another service: %s', (text) => {
    const { composeFiles } = importedBundle({ 'compose.yaml': text, '.env': 'B=2\n' });
    const { services } = parse([...composeFiles.values()][0] ?? '', { merge: true }) as {
      services: Record<string, { environment: object }>;
    };
    expect(services['a']?.environment).toEqual({ A: 1, B: '${B}' });
    expect(services['c']?.environment).toEqual(text.includes('B: 2') ? { A: 1, B: 2 } : { A: 1 });
  });

  it('keeps what an environment merges that it adds to', () => {
    const text = 'x-e: &e {A: 1}\nservices: {a: {image: x, env_file: .env, environment: {<<: *e, C: 1}}}\n';
    const { composeFiles } = importedBundle({ 'compose.yaml': text, '.env': 'B=2\n' });
    expect([...composeFiles.values()][0]).toContain('environment: {<<: *e, C: 1, B: ');
  });

  it('keeps the comments of an environment that it adds to', () => {
    const text = 'services:\n  a:\n    image: x\n    env_file: .env\n    environment:\n      A: 1 # one\n';
    const { composeFiles } = importedBundle({ 'compose.yaml': text, '.env': 'B=2\n' });
    expect([...composeFiles.values()][0]).toContain('A: 1 # one\n      B: ${B}\n');
  });

  it('names a second secret after its service', () => {
    const text = 'services: {a: {image: x, env_file: a.env}, b: {image: x, env_file: b.env}}\n';
    const found = resultOf({ 'compose.yaml': text, 'a.env': 'KEY=one\n', 'b.env': 'KEY=two\n' });
    expect(found).toMatchObject({ a: { environment: { KEY: '${KEY}' } }, secrets: ['KEY', 'B_KEY'] });
  });

  it('is the project’s own under another name', () => {
    const choices = { envFile: 'prod.env' };
    expectImport(
      ['{image: x, env_file: prod.env}', { 'prod.env': 'TOKEN=x\nA=1\n' }],
      {
        ...{ a: { environment: { TOKEN: '${TOKEN}', A: '${A}' } }, variables: { A: '1' }, secrets: ['TOKEN'] },
      },
      choices,
    );
  });

  it('of a service in several files is added where the last does not set its names', () => {
    const files = {
      'compose.yaml': 'services: {a: {image: x, env_file: .env}}\n---\nservices: {a: {environment: {A: 3}}}\n',
    };
    expect(resultOf({ ...files, '.env': 'A=1\nB=2\n' }).a).toEqual({ image: 'x', environment: { B: '${B}' } });
  });
});
