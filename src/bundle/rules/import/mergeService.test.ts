import { mergeService } from './mergeService.ts';
import { parseProjectFile } from './projectDocument.ts';
import type { MapNode } from './yamlNodes.ts';

function mapOf(text: string): MapNode {
  const read = parseProjectFile('compose.yaml', text);
  if ('problems' in read) throw new Error(read.problems.join('\n'));
  return read.documents[0]!.root as MapNode;
}

const merged = (base: string, over: string): unknown => mergeService(mapOf(base), mapOf(over)).toJSON();

describe('a service over its base', () => {
  it.each<[string, string, object]>([
    ['{a: 1, b: 2}', '{b: 3, c: 4}', { a: '1', b: '3', c: '4' }],
    ['{deploy: {mode: a, x: {y: 1}}}', '{deploy: {x: {z: 2}}}', { deploy: { mode: 'a', x: { y: '1', z: '2' } } }],
    ['{x: [a]}', '{x: {b: 1}}', { x: { b: '1' } }],
    ['{x: {b: 1}}', '{x: [a]}', { x: ['a'] }],
    ['{x: a}', '{x: [b]}', { x: ['b'] }],
    ['{x: [a]}', '{x: b}', { x: 'b' }],
    ['{x: [a]}', '{x: }', { x: 'null' }],
  ])('merges mappings by key: %s, %s', (base, over, expected) => {
    expect(merged(base, over)).toEqual(expected);
  });

  it('has each key once', () => {
    expect(mergeService(mapOf('{a: 1, b: 1}'), mapOf('{a: 2}')).items).toHaveLength(2);
  });

  it.each<[string, string, object]>([
    ['{command: [a]}', '{command: [b]}', { command: ['b'] }],
    ['{entrypoint: [a]}', '{entrypoint: [b]}', { entrypoint: ['b'] }],
    ['{healthcheck: {test: [a], x: 1}}', '{healthcheck: {test: [b]}}', { healthcheck: { test: ['b'], x: '1' } }],
    ['{x-command: [a]}', '{x-command: [b]}', { 'x-command': ['a', 'b'] }],
    ['{command-x: [a]}', '{command-x: [b]}', { 'command-x': ['a', 'b'] }],
  ])('replaces commands: %s, %s', (base, over, expected) => {
    expect(merged(base, over)).toEqual(expected);
  });

  it.each(['environment', 'labels', 'annotations', 'sysctls', 'extra_hosts', 'driver_opts'])(
    'merges %s by name',
    (key) => {
      const expected = { A: '1', B: '2=3', C: '4' };
      expect(merged(`{${key}: [A=0, B=2=3]}`, `{${key}: [A=1, C=4]}`)).toEqual({ [key]: expected });
      expect(merged(`{${key}: {A: 0, B: 2=3}}`, `{${key}: [A=1, C=4]}`)).toEqual({ [key]: expected });
      expect(merged(`{${key}: [A]}`, `{${key}: {B: 1}}`)).toEqual({ [key]: { A: '', B: '1' } });
    },
  );

  it.each([
    ['build', 'args'],
    ['build', 'labels'],
    ['deploy', 'labels'],
    ['logging', 'options'],
  ])('merges %s.%s by name', (key, inner) => {
    const expected = { [key]: { [inner]: { A: '1', B: '2' } } };
    expect(merged(`{${key}: {${inner}: [A=0, B=2]}}`, `{${key}: {${inner}: {A: 1}}}`)).toEqual(expected);
  });

  it.each<[string, string, object]>([
    ['{extra_hosts: ["a:1", "b=::1"]}', '{extra_hosts: [a=2]}', { extra_hosts: { a: '2', b: '::1' } }],
    ['{labels: ["a:b=c"]}', '{labels: ["a:b=d"]}', { labels: { 'a:b': 'd' } }],
    ['{labels: ["=x"]}', '{labels: [c=d]}', { labels: { '': 'x', c: 'd' } }],
    ['{labels: [{a: b}]}', '{labels: [c=d]}', { labels: { '': '', c: 'd' } }],
    ['{x-labels: [a=b]}', '{x-labels: [a=c]}', { 'x-labels': ['a=b', 'a=c'] }],
    ['{labels-x: [a=b]}', '{labels-x: [a=c]}', { 'labels-x': ['a=b', 'a=c'] }],
  ])('divides a name and its value: %s, %s', (base, over, expected) => {
    expect(merged(base, over)).toEqual(expected);
  });

  const started = { condition: 'service_started' };
  it.each<[string, string, object]>([
    ['{depends_on: [a]}', '{depends_on: {b: {condition: x}}}', { depends_on: { a: started, b: { condition: 'x' } } }],
    ['{depends_on: [a]}', '{depends_on: [b]}', { depends_on: { a: started, b: started } }],
    ['{networks: [a]}', '{networks: {b: {aliases: [c]}}}', { networks: { a: {}, b: { aliases: ['c'] } } }],
    ['{x-networks: [a]}', '{x-networks: {b: 1}}', { 'x-networks': { b: '1' } }],
    ['{networks-x: [a]}', '{networks-x: {b: 1}}', { 'networks-x': { b: '1' } }],
  ])('merges names in either form: %s, %s', (base, over, expected) => {
    expect(merged(base, over)).toEqual(expected);
  });

  it.each(['env_file', 'label_file', 'dns', 'dns_search', 'tmpfs'])('joins one %s and several', (key) => {
    expect(merged(`{${key}: a}`, `{${key}: [b]}`)).toEqual({ [key]: ['a', 'b'] });
    expect(merged(`{${key}: a}`, `{${key}: b}`)).toEqual({ [key]: ['a', 'b'] });
    expect(merged(`{x-${key}: a}`, `{x-${key}: [b]}`)).toEqual({ [`x-${key}`]: ['b'] });
    expect(merged(`{${key}-x: a}`, `{${key}-x: [b]}`)).toEqual({ [`${key}-x`]: ['b'] });
  });

  it.each<[string, string, object]>([
    ['{ports: ["1:1", "2:2"]}', '{ports: ["2:2", "3:2"]}', { ports: ['1:1', '2:2', '3:2'] }],
    ['{ports: [{target: 1}, {target: 2}]}', '{ports: [{target: 2}]}', { ports: [{ target: '1' }, { target: '2' }] }],
    ['{volumes: [a:/v, b:/w]}', '{volumes: [c:/v/]}', { volumes: ['b:/w', 'c:/v/'] }],
    ['{volumes: [a:/v/x]}', '{volumes: [c:/v/]}', { volumes: ['a:/v/x', 'c:/v/'] }],
    ['{volumes: [a:/v]}', '{volumes: [c:/v//]}', { volumes: ['c:/v//'] }],
    ['{volumes: [a:/v:ro]}', '{volumes: [/v]}', { volumes: ['/v'] }],
    ['{volumes: [a:/v]}', '{volumes: [{target: /v}]}', { volumes: [{ target: '/v' }] }],
    [
      '{volumes: [{source: a}]}',
      '{volumes: [{source: a}, {source: b}]}',
      { volumes: [{ source: 'a' }, { source: 'b' }] },
    ],
    ['{devices: [/dev/a:/x]}', '{devices: [/dev/b:/x]}', { devices: ['/dev/b:/x'] }],
    ['{expose: ["1:/v"]}', '{expose: ["2:/v"]}', { expose: ['1:/v', '2:/v'] }],
  ])('joins lists, mounts and devices by target: %s, %s', (base, over, expected) => {
    expect(merged(base, over)).toEqual(expected);
  });
});
