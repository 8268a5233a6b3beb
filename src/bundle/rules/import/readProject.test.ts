import { parse } from 'yaml';
import { importedBundle, type ProjectFiles } from '../../../../fixtures/import/importing.ts';

describe('several files', () => {
  const textsOf = (files: ProjectFiles, names?: string[]) => {
    const { composeFiles, report, manifest } = importedBundle(files, {}, names);
    const parsed = [...composeFiles].map(([path, text]) => [path, parse(text) as unknown]);
    return { files: Object.fromEntries(parsed) as object, compose: manifest.compose, undecided: report.undecided };
  };

  it('stay several, those that are included too, with their paths', () => {
    const files = {
      'compose.yaml': 'include: [sub/b.yaml, {path: [c.yaml], project_directory: sub}]\nservices: {a: {image: x}}\n',
      'sub/b.yaml': 'services: {b: {image: x, volumes: [./b.conf:/b], env_file: b.env}}\n',
      'c.yaml': 'services: {c: {image: x, volumes: [b.conf:/v, ./b.conf:/b]}}\n',
      ...{ 'sub/b.conf': '', 'sub/b.env': 'A=1\n' },
    };
    expect(textsOf(files)).toEqual({
      compose: ['sub/b.yaml', 'c.yaml', 'compose.yaml'],
      files: {
        'sub/b.yaml': { services: { b: { image: 'x', volumes: ['./sub/b.conf:/b:ro'], env_file: './sub/b.env' } } },
        'c.yaml': { services: { c: { image: 'x', volumes: ['b.conf:/v', './sub/b.conf:/b:ro'] } } },
        'compose.yaml': { services: { a: { image: 'x' } } },
      },
      undecided: [],
    });
  });

  it('are left to decide where they are not of the project', () => {
    const { undecided, files } = textsOf({
      'compose.yaml': 'include: [oci://x/y, z.yaml]\nservices: {a: {image: x}}\n',
    });
    expect(undecided.map(({ what }) => what)).toEqual([
      'oci://x/y is no file of the project',
      'z.yaml is no file of the project',
    ]);
    expect(files).toMatchObject({ 'compose.yaml': { include: ['oci://x/y', 'z.yaml'] } });
  });

  it('give their services to those that extend them', () => {
    const base = [
      'services:',
      '  base: {image: y, command: [b], environment: [A=1, B=2], volumes: [./b.conf:/b, v:/v], extends: {service: root}}',
      '  root: {restart: always, labels: {l: r}, depends_on: [z]}',
    ];
    const own =
      '{extends: {file: sub/base.yaml, service: base}, image: x, environment: {B: 3}, volumes: [w:/v], labels: [m=1]}';
    const { files } = textsOf({
      'compose.yaml': `services: {a: ${own}}\n`,
      'sub/base.yaml': base.join('\n'),
      'sub/b.conf': '',
    });
    const a = {
      ...{ restart: 'always', labels: { l: 'r', m: '1' }, depends_on: ['z'], image: 'x', command: ['b'] },
      ...{ environment: { A: '1', B: 3 }, volumes: ['./sub/b.conf:/b:ro', 'w:/v'] },
    };
    expect(files).toEqual({ 'compose.yaml': { services: { a } } });
  });

  it('are reset and overridden without tags', () => {
    const files = {
      'a.yaml': 'services: {a: {image: x, ports: ["1:1"], env_file: a.env, environment: {A: 1, B: 2}}}\n',
      'b.yaml': 'services: {a: {ports: !override ["2:2"], env_file: !reset [], environment: {A: !reset null}}}\n',
    };
    expect(textsOf(files, ['a.yaml', 'b.yaml']).files).toEqual({
      'a.yaml': { services: { a: { image: 'x', environment: { B: 2 } } } },
      'b.yaml': { services: { a: { ports: ['2:2'], environment: {} } } },
    });
  });

  it('are made of several documents in one', () => {
    const { compose, files } = textsOf({
      'compose.yaml': 'services: {a: {image: x}}\n---\nservices: {a: {restart: always}}\n',
    });
    expect({ compose, files }).toEqual({
      compose: ['compose.yaml', 'compose.2.yaml'],
      files: {
        'compose.yaml': { services: { a: { image: 'x' } } },
        'compose.2.yaml': { services: { a: { restart: 'always' } } },
      },
    });
  });
});
