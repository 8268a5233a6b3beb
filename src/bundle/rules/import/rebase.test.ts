import { parse } from 'yaml';
import { parseProjectFile } from './projectDocument.ts';
import { dotted, rebasePaths } from './rebase.ts';

function rebased(text: string, base: string): unknown {
  const read = parseProjectFile('sub/compose.yaml', text);
  if ('problems' in read) throw new Error(read.problems.join('\n'));
  const [document] = read.documents;
  rebasePaths(document!, base);
  return parse(document!.document.toString());
}

const serviceOf = (service: string) => `services: {a: ${service}}\n`;

it.each<[string, object]>([
  [
    '{volumes: ["./d:/d:ro", "../e:/e", "..:/f", "v:/v", "/h:/h", "~/h:/h"]}',
    { volumes: ['./sub/d:/d:ro', './e:/e', '.:/f', 'v:/v', '/h:/h', '~/h:/h'] },
  ],
  ['{volumes: ["./d://x"]}', { volumes: ['./sub/d://x'] }],
  ['{volumes: ["./d"]}', { volumes: ['./d'] }],
  ['{env_file: b.env}', { env_file: './sub/b.env' }],
  ['{env_file: [b.env, {path: ../c.env}]}', { env_file: ['./sub/b.env', { path: './c.env' }] }],
  ['{label_file: [l]}', { label_file: ['./sub/l'] }],
  ['{extends: {file: ../../b.yaml, service: x}}', { extends: { file: '../b.yaml', service: 'x' } }],
  ['{env_file: ["$X/b", "/b", "http://b"]}', { env_file: ['$X/b', '/b', 'http://b'] }],
  [
    '{volumes: [{type: bind, source: d, target: /d}, {type: volume, source: d, target: /d}]}',
    {
      volumes: [
        { type: 'bind', source: './sub/d', target: '/d' },
        { type: 'volume', source: 'd', target: '/d' },
      ],
    },
  ],
])('a path of another directory: %s', (service, expected) => {
  expect(rebased(serviceOf(service), 'sub')).toEqual({ services: { a: expected } });
});

it('files of configs and secrets, and a path that several share, once', () => {
  const text =
    'configs: {c: {file: c}}\nsecrets: {s: {file: &s ./s}, t: {file: *s}, u: {environment: U}}\nservices: {}\n';
  expect(rebased(text, 'sub')).toEqual({
    configs: { c: { file: './sub/c' } },
    secrets: { s: { file: './sub/s' }, t: { file: './sub/s' }, u: { environment: 'U' } },
    services: {},
  });
});

it('no path of the directory of the project', () => {
  const text = serviceOf('{env_file: ./b.env}');
  expect(rebased(text, '.')).toEqual(parse(text));
});

it.each([
  ['.', '.'],
  ['..', '..'],
  ['../a', '../a'],
  ['a', './a'],
])('%s begins with a dot: %s', (path, expected) => {
  expect(dotted(path)).toBe(expected);
});
