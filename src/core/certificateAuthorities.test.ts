import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import ts from 'typescript';
import { createCa, unreadableCertificate } from '../../fixtures/world/servers/crypto/ca.ts';
import { createTlsContext, parseAuthorities, readAuthorities } from './certificateAuthorities.ts';

const { pem } = createCa();

describe('parseAuthorities', () => {
  it.each([
    '',
    '\n',
    '# no root\n',
    pem.slice(0, 200),
    pem.replace('-----BEGIN', '# -----BEGIN'),
    unreadableCertificate,
  ])('finds none in %j', (text) => expect(parseAuthorities(text)).toBeNull());

  it.each([pem, `# a root\r\n${pem.replaceAll('\n', '\r\n')}`, unreadableCertificate + pem, pem + pem.slice(0, 200)])(
    'accepts a text with at least one certificate that can be parsed',
    (text) => expect(() => createTlsContext(parseAuthorities(text)!)).not.toThrow(),
  );
});

/**
 * Without given authorities, TLS trusts the public roots of the runtime. So every handshake must be given a context,
 * and contexts are created in one place only, from parsed authorities.
 */
describe('nothing is trusted by default', () => {
  const home = 'src/core/certificateAuthorities.ts';
  const nodes = globSync('src/**/*.ts')
    .filter((file) => !file.endsWith('.test.ts'))
    .flatMap((file) => nodesOf(file).map((node) => ({ file, node })));
  const where = (found: typeof nodes) => found.map(({ file, node }) => `${file}: ${node.getText().slice(0, 80)}`);

  it('TLS contexts are created in one place', () => {
    const creating = nodes.filter(
      ({ node }) => ts.isIdentifier(node) && /^createSecure(Context|Pair)$/.test(node.text),
    );
    expect(new Set(creating.map(({ file }) => file))).toEqual(new Set([home]));
  });

  it('no option disables verification', () => {
    const disabling = nodes.filter(({ node }) => {
      if (!ts.isPropertyAssignment(node)) return false;
      const name = node.name.getText();
      return name === 'rejectUnauthorized' && !node.getText().endsWith('true');
    });
    expect(where(disabling)).toEqual([]);
  });

  it('every handshake and every agent is given a context, and every request an agent', () => {
    const tlsCalls = nodes.filter(({ node }) => requiredOption(node) !== null);
    expect(tlsCalls.length).toBeGreaterThan(5);
    expect(where(tlsCalls.filter(({ node }) => !node.getText().includes(requiredOption(node)!)))).toEqual([]);
  });

  it('the public roots of the runtime are used only where the system has none', () => {
    const uses = nodes.filter(({ node }) => ts.isIdentifier(node) && node.text === 'rootCertificates');
    expect(new Set(uses.map(({ file }) => file))).toEqual(new Set([home]));
  });
});

function nodesOf(file: string): ts.Node[] {
  const under = (node: ts.Node): ts.Node[] => [node, ...node.getChildren().flatMap(under)];
  return under(ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true));
}

/** The option that a call which starts TLS must have; null for all other nodes. */
function requiredOption(node: ts.Node): string | null {
  if (!ts.isCallExpression(node) && !ts.isNewExpression(node)) return null;
  const called = node.expression.getText();
  if (called === 'tls.connect' || /^(https\.|Https)Agent$/.test(called)) return 'secureContext';
  if (called === 'super' && /^(https\.|Https)Agent$/.test(parentClassOf(node) ?? '')) return 'secureContext';
  if (/^(https\.(request|get)|overHttps)$/.test(called)) return 'agent';
  return /^got\b/.test(called) ? 'agent: request.agents' : null;
}

function parentClassOf(node: ts.Node): string | undefined {
  const around = ts.findAncestor(node, ts.isClassDeclaration);
  return around?.heritageClauses?.[0]?.types[0]?.expression.getText();
}

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'deployd-authorities-'))));
afterEach(() => rm(dir, { recursive: true }));

it('reads the authorities of a file', async () => {
  const { pem } = createCa();
  await writeFile(join(dir, 'ca.pem'), `comment\n${pem}`);
  expect(readAuthorities(join(dir, 'ca.pem')).map((each) => each.trim())).toEqual([pem.trim()]);
});

it('has some without a file, of which TLS can be made', () => {
  expect(readAuthorities(null).length).toBeGreaterThan(0);
  createTlsContext(readAuthorities(null));
});

it.each<[string, string | null, string]>([
  ['that is missing', null, 'cannot be read (ENOENT)'],
  ['without a certificate', 'none', 'has no certificate in PEM'],
  ['that is too large', ' '.repeat(4_194_305), 'cannot be read (EFBIG)'],
])('names a file %s', async (_what, content, why) => {
  const file = join(dir, 'ca.pem');
  if (content !== null) await writeFile(file, content);
  expect(() => readAuthorities(file)).toThrow(`${file} ${why}`);
});
