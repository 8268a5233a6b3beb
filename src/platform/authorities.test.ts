import { globSync, readFileSync } from 'node:fs';
import ts from 'typescript';
import { createCa, unreadableCertificate } from '../../fixtures/servers/ca.ts';
import { authoritiesIn, contextOf } from './authorities.ts';

const { pem } = createCa();

describe('authorities', () => {
  it.each([
    '',
    '\n',
    '# no root\n',
    pem.slice(0, 200),
    pem.replace('-----BEGIN', '# -----BEGIN'),
    unreadableCertificate,
  ])('are not in %j', (text) => expect(authoritiesIn(text)).toBeNull());

  it.each([pem, `# a root\r\n${pem.replaceAll('\n', '\r\n')}`, unreadableCertificate + pem, pem + pem.slice(0, 200)])(
    'are in a text with one certificate that can be read',
    (text) => expect(() => contextOf(authoritiesIn(text)!)).not.toThrow(),
  );
});

/**
 * TLS that is told of no authority believes the public ones that the runtime brings. So whatever begins a handshake is given
 * a context, and contexts are made where authorities are judged.
 */
describe('nothing is trusted by default', () => {
  const home = 'src/platform/authorities.ts';
  const nodes = globSync('src/**/*.ts')
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => nodesOf(file).map((node) => ({ file, node })));
  const where = (found: typeof nodes) => found.map(({ file, node }) => `${file}: ${node.getText().slice(0, 80)}`);

  it('contexts are made in one place', () => {
    const making = nodes.filter(({ node }) => ts.isIdentifier(node) && /^createSecure(Context|Pair)$/.test(node.text));
    expect(new Set(making.map(({ file }) => file))).toEqual(new Set([home]));
  });

  it('no option tells to trust anybody', () => {
    const telling = nodes.filter(({ node }) => {
      if (!ts.isPropertyAssignment(node)) return false;
      const name = node.name.getText();
      return name === 'rejectUnauthorized' && !node.getText().endsWith('true');
    });
    expect(where(telling)).toEqual([]);
  });

  it('every handshake and every pool of them is given a context, and every request a pool', () => {
    const begun = nodes.filter(({ node }) => demandOf(node) !== null);
    expect(begun.length).toBeGreaterThan(5);
    expect(where(begun.filter(({ node }) => !node.getText().includes(demandOf(node)!)))).toEqual([]);
  });

  it('the public roots of the runtime are taken where a system has none, and nowhere else', () => {
    const taken = nodes.filter(({ node }) => ts.isIdentifier(node) && node.text === 'rootCertificates');
    expect(new Set(taken.map(({ file }) => file))).toEqual(new Set(['src/agent/adapters/transport/roots.ts']));
  });
});

function nodesOf(file: string): ts.Node[] {
  const under = (node: ts.Node): ts.Node[] => [node, ...node.getChildren().flatMap(under)];
  return under(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true));
}

/** What must be told by who begins TLS; null for all else. */
function demandOf(node: ts.Node): string | null {
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return null;
  const called = node.expression.getText();
  if (called === 'tls.connect' || /^(https\.|Https)Agent$/.test(called)) return 'secureContext';
  if (called === 'super' && /^(https\.|Https)Agent$/.test(parentClassOf(node) ?? '')) return 'secureContext';
  if (/^(https\.(request|get)|overHttps)$/.test(called)) return 'agent';
  return /^got\b/.test(called) ? 'agent: agents' : null;
}

function parentClassOf(node: ts.Node): string | undefined {
  const around = ts.findAncestor(node, ts.isClassDeclaration);
  return around?.heritageClauses?.[0]?.types[0]?.expression.getText();
}
