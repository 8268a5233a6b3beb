import { parse, Scalar } from 'yaml';
import { parseProjectFile, renderProjectDocument, type ProjectDocument } from './projectDocument.ts';
import * as nodes from './yamlNodes.ts';
import type { MapNode } from './yamlNodes.ts';

function documentOf(text: string): ProjectDocument {
  const read = parseProjectFile('compose.yaml', text);
  if ('problems' in read) throw new Error(read.problems.join('\n'));
  return read.documents[0]!;
}

/** The mapping under `at`, and its document. */
function placeOf(text: string): [MapNode, ProjectDocument] {
  const document = documentOf(text);
  return [nodes.mapAt(nodes.valueAt(document.root, document, 'at'), document)!, document];
}

describe('a node', () => {
  it('is found behind aliases and merges, its own keys first', () => {
    const document = documentOf('a: &a {x: 1, y: 1}\nb: &b {<<: *a, y: 2, z: [p, *a]}\nc: *b\n');
    const at = (...keys: string[]) => nodes.textAt(nodes.valueAt(document.root, document, ...keys), document);
    expect([at('c', 'x'), at('c', 'y'), at('c', 'none'), at('c'), at('c', 'x', 'y')]).toEqual([
      ...['1', '2', null, null, null],
    ]);
    const items = nodes.itemsAt(nodes.valueAt(document.root, document, 'c', 'z'), document);
    expect(items.map((item) => nodes.textAt(item, document))).toEqual(['p', null]);
    expect(nodes.itemsAt(nodes.valueAt(document.root, document, 'c', 'x'), document)).toHaveLength(1);
    expect(nodes.itemsAt(nodes.valueAt(document.root, document, 'none'), document)).toEqual([]);
    expect(nodes.entriesAt(nodes.valueAt(document.root, document, 'c', 'x'), document)).toEqual([]);
  });

  it('is merged from several, the first before the others', () => {
    const [map, document] = placeOf('a: &a {x: 1}\nb: &b {x: 2, y: 2}\nat: {<<: [*a, *b], z: 3}\n');
    const layers = nodes.layersOf(map, document);
    expect(
      ['x', 'y', 'z', 'none'].map((key) => nodes.textAt(nodes.effectivePair(layers, key)?.value, document)),
    ).toEqual(['1', '2', '3', null]);
    expect(nodes.effectivePair(layers, 'y')?.map).toBe(layers[2]);
  });

  it.each(['~', 'null', 'Null', 'NULL', ''])('without a text is null: %j', (text) => {
    const [map, document] = placeOf(`at: {x: ${text}}\n`);
    expect(nodes.scalarAt(nodes.ownValue(map, 'x'), document)).toBeNull();
  });

  it.each(['"null"', "''", 'nil', '~x', 'nullx', 'xnull'])('has a text: %s', (text) => {
    const [map, document] = placeOf(`at: {x: ${text}}\n`);
    expect(nodes.textAt(nodes.ownValue(map, 'x'), document)).toBe(parse(text));
  });
});

describe('a key', () => {
  it('is set in place of an older one, or behind the others', () => {
    const [map] = placeOf('at: {x: 1, y: 2}\n');
    nodes.setValue(map, 'x', nodes.newScalar('3'));
    nodes.setValue(map, 'z', nodes.newScalar('4'));
    expect(map.toJSON()).toEqual({ x: '3', y: '2', z: '4' });
    expect(nodes.removeKey(map, 'y')).toBe(true);
    expect(nodes.removeKey(map, 'y')).toBe(false);
    expect(nodes.removeKey(null, 'y')).toBe(false);
    expect(nodes.removeKey(map, 'x')).toBe(true);
    expect(map.toJSON()).toEqual({ z: '4' });
    expect([nodes.ownValue(null, 'z'), nodes.ownValue(map, 'y')]).toEqual([undefined, undefined]);
  });

  it('is quoted where YAML would read no text', () => {
    const [map, document] = placeOf('at: {y: 2}\n');
    nodes.setValue(map, '5', nodes.newScalar('x'));
    expect(renderProjectDocument(document)).toBe("at: {y: 2, '5': x}\n");
  });

  it('that merges is written without quotes', () => {
    const [map, document] = placeOf('a: &a {x: 1}\nat: {y: 2}\n');
    nodes.setValue(map, '<<', nodes.valueAt(document.root, document, 'a')!);
    expect(renderProjectDocument(document)).toContain('<<:');
  });
});

describe('a text', () => {
  const written = (text: string) => renderProjectDocument(documentOf(`at: ${text}\n`));
  const rewritten = (before: string, text: string) => {
    const [map, document] = placeOf(`at:\n  x: ${before}\n`);
    nodes.setText(nodes.scalarAt(nodes.ownValue(map, 'x'), document)!, text);
    return renderProjectDocument(document).trim();
  };

  it.each([
    'a',
    '_a',
    './a/b:c',
    '/a',
    '$A',
    '${A:-b}',
    'a@b?c=d-e',
    'x1',
    'a.inf',
    'a.5x',
    '.info',
    'noon',
    'yesterday',
    'nx',
  ])('is written plain: %s', (text) => {
    expect(rewritten('old', text)).toBe(`at:\n  x: ${text}`);
  });

  it.each([
    ...[
      '1',
      'true',
      'Yes',
      'no',
      'on',
      'OFF',
      'y',
      'n',
      'null',
      'false',
      'a:',
      '.inf',
      '.NaN',
      '.5',
      '',
      'a b',
      '-a',
      'ä',
    ],
    ...['a#b', '@a', 'a,b', '~'],
  ])('is quoted: %j', (text) => {
    expect(rewritten('old', text)).toBe(`at:\n  x: '${text}'`);
  });

  it.each([
    ['"old"', 'new', '"new"'],
    ["'old'", 'new', "'new'"],
  ])('keeps its quotes: %s', (before, text, after) => {
    expect(rewritten(before, text)).toBe(`at:\n  x: ${after}`);
  });

  it('keeps a block of lines, and becomes plain as one line', () => {
    const blockOf = (text: string) => {
      const document = documentOf('at: |\n  old\n  lines\n');
      nodes.setText(nodes.scalarAt(nodes.valueAt(document.root, document, 'at'), document)!, text);
      return renderProjectDocument(document);
    };
    expect(blockOf('new\nlines\n')).toBe('at: |\n  new\n  lines\n');
    expect(blockOf('new')).toBe('at: new\n');
    const scalar = new Scalar('a');
    nodes.setText(scalar, '5');
    expect(scalar.type).toBe('QUOTE_SINGLE');
    expect(written('plain')).toBe('at: plain\n');
  });
});

describe('a copy', () => {
  const copyOf = (text: string) => {
    const [map, document] = placeOf(text);
    const copy = nodes.writtenOut(map, document);
    document.document.contents = copy;
    return renderProjectDocument(document);
  };

  it('has no anchors, aliases and merges', () => {
    const text = 'a: &a {x: &x 1, y: [1, *x]}\nat:\n  <<: *a\n  y: &y\n    - *a\n  z: *y\n';
    expect(parse(copyOf(text))).toEqual({ x: 1, y: [{ x: 1, y: [1, 1] }], z: [{ x: 1, y: [1, 1] }] });
    expect(copyOf(text)).not.toMatch(/[&*]|<</);
  });

  it('keeps the style of flow', () => {
    expect(copyOf('at:\n  a: {b: [1]}\n  c:\n    - {d: 1}\n')).toBe('a: {b: [1]}\nc:\n  - {d: 1}\n');
    expect(copyOf('at: {a: 1}\n')).toBe('{a: 1}\n');
    expect(copyOf('at:\n  b: [1]\n')).toBe('b: [1]\n');
  });

  it('of nothing is nothing', () => {
    const document = documentOf('a: 1\n');
    expect([nodes.writtenOut(null, document), nodes.writtenOut(undefined, document)]).toEqual([null, null]);
  });
});
