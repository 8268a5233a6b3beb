import { findTokens } from './tokenPatterns.ts';

/** The parts of `text` that are redacted. */
function found(text: string, from = 0, open = false): string[] {
  return findTokens(text, from, open).map(({ interval }) => text.slice(...interval));
}

const [a9, a10, a19, a20, a23, a24] = [9, 10, 19, 20, 23, 24].map((length) => 'a'.repeat(length));

describe('a token', () => {
  it.each([
    `s.${a24}`,
    `b.${a24}.aB3dE`,
    `r.${a24}.aB3dE6`,
    `hvs.${a24}`,
    `hvb.${a24}`,
    `hvr.${a24}`,
    `gldt-${a20}`,
    `glpat-${a20}`,
    `glcbt-${a20}`,
    `glptt-${a20}`,
    `glrt-${a20}`,
    `eyJ${a10}.${a10}`,
    `eyJ${a10}.${a10}.${a9}..`,
  ])('is found as a whole: %s', (token) => {
    expect(found(`(${token})`)).toEqual([token]);
    expect(found(`${token} `)).toEqual([token]);
  });

  it.each([
    `s.${a23}`,
    `hvs.${a23}`,
    `xs.${a24}`,
    `_s.${a24}`,
    `.s.${a24}`,
    `-s.${a24}`,
    `0s.${a24}`,
    `c.${a24}`,
    `hvc.${a24}`,
    `glpat-${a19}`,
    `glxyz-${a20}`,
    `eyJ${a9}.${a10}`,
    `eyJ${a10}.${a9}`,
    `eyJ${a10}.${a9} .${a10}`,
  ])('is not found in %s', (text) => {
    expect(found(text)).toEqual([]);
  });

  it.each([
    ['a short rest is no namespace', `s.${a24}.abcd`, `s.${a24}`],
    ['the new prefix may follow a letter', `xhvs.${a24}`, `hvs.${a24}`],
    ['white space ends it', `glpat-${a20} ${a20}`, `glpat-${a20}`],
  ])('ends where it must: %s', (_, text, token) => {
    expect(found(text)).toEqual([token]);
  });

  it('is searched from a position on, to which a header may still belong', () => {
    const text = `hvs.${a24} authorization: root`;
    expect(found(text, 1)).toEqual(['root']);
    expect(found(text, text.indexOf(':'))).toEqual(['root']);
    expect(found(text, text.indexOf(':') + 1)).toEqual([]);
  });

  it('may be the beginning of a JWT only at the end of an open text', () => {
    const text = `eyJ${a10}.${a9}`;
    expect(found(text, 0, true)).toEqual([text]);
    expect(found(`${text} `, 0, true)).toEqual([]);
    expect(found(`${text} eyJ${a10}`, 0, true)).toEqual([`eyJ${a10}`]);
  });

  it('begins, as a match, with the colon of its header', () => {
    expect(findTokens('authorization : root', 0, false)).toEqual([{ start: 14, interval: [16, 20] }]);
    expect(findTokens(` hvs.${a24}`, 0, false)).toEqual([{ start: 1, interval: [1, 29] }]);
  });
});

describe('the credential of a header', () => {
  it.each([
    ['X-Vault-Token: root', ['root']],
    ['deploy-token=root', ['root']],
    ['private-token:root', ['root']],
    ["'job-token'\t: root", ['root']],
    ['authorization: Bearer root x', ['Bearer root']],
    ['authorization:\t \tBearer \troot x', ['Bearer \troot']],
    [`authorization${' '.repeat(8)}:${' '.repeat(8)}root`, ['root']],
    [`authorization${' '.repeat(9)}: root`, []],
    [`authorization:${' '.repeat(9)}root`, []],
    ['authorization root', []],
    ['author: root', []],
    ['token: root', []],
    ['authorization: [REDACTED] root', []],
    ['authorization: ', []],
    ['authorization: \nroot', []],
    ['authorization: root\nnext', ['root']],
  ])('in %j is %j', (text, credentials) => {
    expect(found(text)).toEqual(credentials);
  });
});
