import { createRedactor } from './redactor.ts';

const mark = '[REDACTED]';
const jwt = `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(40)}.${'c_-'.repeat(20)}`;

function redactStream(secrets: string[], chunks: (Buffer | string)[]): string {
  const stream = createRedactor(secrets).redactStream();
  return chunks.map((chunk) => stream.push(chunk)).join('') + stream.end();
}

function redact(secrets: string[], text: string): string {
  return createRedactor(secrets).redact(text);
}

describe('token patterns', () => {
  test.each([
    ['a service token of OpenBao', `s.${'aB3'.repeat(8)}`],
    ['one of a child namespace', `s.${'aB3'.repeat(8)}.a1B2c3`],
    ['a batch token', `b.${'aB3_-'.repeat(24)}`],
    ['a recovery token', `r.${'aB3'.repeat(8)}`],
    ['a service token of Vault', `hvs.CAESI${'aB3_-'.repeat(18)}`],
    ['a batch token of Vault', `hvb.${'aB3_-'.repeat(24)}`],
    ['a JWT', jwt],
    ['an unsigned JWT', jwt.slice(0, jwt.lastIndexOf('.') + 1)],
    ['a personal token of GitLab', `glpat-${'aB3'.repeat(7)}`],
    ['a deploy token of GitLab', `gldt-${'aB3'.repeat(7)}`],
  ])('redact %s', (_name, token) => {
    expect(redact([], `before "${token}" after`)).toBe(`before "${mark}" after`);
    expect(redact([], token)).toBe(mark);
  });

  test.each([
    ['X-Vault-Token: root', `X-Vault-Token: ${mark}`],
    ['authorization: Bearer root', `authorization: ${mark}`],
    ["headers: { authorization: 'Bearer root' }", `headers: { authorization: ${mark} }`],
    ['"Authorization":"Basic cm9vdA==" x', `"Authorization":${mark} x`],
    ['PRIVATE-TOKEN=root', `PRIVATE-TOKEN=${mark}`],
    ['Job-Token : root\nnext', `Job-Token : ${mark}\nnext`],
    ['deploy-token\t=\troot', `deploy-token\t=\t${mark}`],
  ])('redact the credential of the header %j', (text, expected) => {
    expect(redact([], text)).toBe(expected);
    expect(redact([], expected)).toBe(expected);
  });

  test.each([
    ['a digest', 'a'.repeat(64)],
    ['a file name', 'logs.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa and s.short'],
    ['base64 JSON that is not a JWT', `eyJ${'a'.repeat(200)} .b`],
    ['base64 JSON at the end', `eyJ${'a'.repeat(200)}`],
    ['a header without a value', 'authorization:\nnext line'],
    ['a check-in line', `check-in: action=apply desired=${'0a'.repeat(32)} applied=none`],
  ])('leave %s alone', (_name, text) => {
    expect(redact([], text)).toBe(text);
  });

  it('redact a token that is split anywhere', () => {
    const text = `x ${jwt} authorization: Bearer root\n`;
    for (let cut = 0; cut <= text.length; cut++) {
      expect(redactStream([], [text.slice(0, cut), text.slice(cut)])).toBe(`x ${mark} authorization: ${mark}\n`);
    }
  });
});

describe('values', () => {
  test.each([
    ['overlapping ones, by one mark', ['abcdef', 'defghi'], '-abcdefghi-', `-${mark}-`],
    ['adjacent ones, by a mark each', ['abcd', 'efgh'], '-abcdefgh-', `-${mark}${mark}-`],
    ['the longest of several that match', ['abcd', 'abcdefgh'], 'abcdefgh abcdef', `${mark} ${mark}ef`],
    [
      'each line of a multi-line value',
      ['first line\r\n  second line\nxy'],
      'a: second line, b: first line, xy',
      `a: ${mark}, b: ${mark}, xy`,
    ],
    ['one with a trailing line end, printed without it', ['hunter2\n'], 'is hunter2!', `is ${mark}!`],
    [
      'a line in base64',
      ['first line\nsecond line'],
      `<${Buffer.from('second line').toString('base64')}>`,
      `<${mark}>`,
    ],
    ['standalone short ones', ['ab', 'é'], 'ab (ab) ab=é 😀ab', `${mark} (${mark}) ${mark}=${mark} 😀${mark}`],
    ['no short ones inside a word', ['ab', 'é'], 'abc 1ab zébu éab 𝐚ab ab𝟕', 'abc 1ab zébu éab 𝐚ab ab𝟕'],
    ['a short one inside another that does not stand alone', ['a-b', 'b'], 'xa-b', `xa-${mark}`],
    ['no beginning of a short one inside another', ['.-b', '-bx'], 'x.-b', 'x.-b'],
    ['short lines between blanks, by one mark', ['  a\nb  '], 'is a\nb.', `is ${mark}.`],
    ['no blank ones', [' ', '\n', '', '     '], 'a b\n     c', 'a b\n     c'],
    ['short ones beside punctuation', ['ab'], '/ab: @ab[ `ab{', `/${mark}: @${mark}[ \`${mark}{`],
    ['no short ones beside a digit', ['ab'], '0ab ab9 9ab', '0ab ab9 9ab'],
    ['no short ones beside a letter', ['..'], '..a ..z ..A Z..', '..a ..z ..A Z..'],
    ['a short one with a trailing line end, printed without it', ['abc\n'], 'is abc!', `is ${mark}!`],
    ['short lines of a value that has no long ones', ['ab\n c\n'], 'is ab, c', `is ${mark}, ${mark}`],
    ['no short lines of a value that has long ones', ['{\n  "key": 1\n}'], 'is {}', 'is {}'],
    ['one that contains a mark', [`pre${mark}post`], `pre${mark}post`, mark],
  ])('are redacted: %s', (...[, secrets, text, expected]) => {
    expect(redact(secrets, text)).toBe(expected);
  });

  it.each([
    [4095, mark],
    [4096, '7A'.repeat(4096)],
  ])('of %i characters is searched in rare encodings, or not', (length, expected) => {
    expect(redact(['z'.repeat(length)], '7A'.repeat(length))).toBe(expected);
  });

  it('are redacted when a multi-byte character is split', () => {
    const bytes = Buffer.from('vor pässwörd😀 nach\n');
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(redactStream(['pässwörd😀'], [bytes.subarray(0, cut), bytes.subarray(cut)])).toBe(`vor ${mark} nach\n`);
    }
  });

  it('are redacted in a text that arrives byte by byte', () => {
    const bytes = Buffer.from('so s3cret-pässwörd it is\n');
    const chunks = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(redactStream(['s3cret-pässwörd'], chunks)).toBe(`so ${mark} it is\n`);
  });
});

describe('a stream', () => {
  it('releases a line as soon as it ends', () => {
    const stream = createRedactor(['secret value']).redactStream();
    expect(stream.push('one\ntwo')).toBe('one\n');
    expect(stream.push(' is secret val')).toBe('');
    expect(stream.push('ue\nthree')).toBe(`two is ${mark}\n`);
    expect(stream.end()).toBe('three');
  });

  it('holds back a line end that may belong to a value', () => {
    const stream = createRedactor(['long\nb\nlast']).redactStream();
    expect(stream.push('x a long\nb\n')).toBe('x a ');
    expect(stream.push('d\n')).toBe(`${mark}\nb\nd\n`);
  });

  it('releases an endless line in bounded memory', () => {
    const stream = createRedactor(['secret value']).redactStream();
    let held = 0;
    let shown = '';
    for (let round = 0; round < 400; round++) {
      const chunk = `${'x'.repeat(1000)} secret value `;
      held += chunk.length;
      const out = stream.push(chunk);
      shown += out;
      held -= out.replaceAll(mark, 'secret value').length;
      expect(held).toBeLessThan(70_000);
    }
    expect(shown + stream.end()).toBe(`${'x'.repeat(1000)} ${mark} `.repeat(400));
  });

  test.each([
    [
      'a token at every distance from the split',
      (at: number) => ['-'.repeat(at), ` hvs.${'aB3'.repeat(40)} `],
      ` ${mark} `,
    ],
    ['a header', (at: number) => ['-'.repeat(at), ' authorization: Bearer root '], ` authorization: ${mark} `],
    ['a JWT', (at: number) => ['-'.repeat(at), ` ${jwt} `], ` ${mark} `],
    ['a value', (at: number) => ['-'.repeat(at), ' secret value '], ` ${mark} `],
  ])('redacts, in an endless line, %s', (_what, build, expected) => {
    for (const distance of [0, 1, 2, 5, 20, 60, 100, 130, 200, 8191, 8192, 8193]) {
      const [filler = '', token = ''] = build(65_536 - distance);
      for (const chunks of [
        [filler, token],
        [filler + token],
        [filler, ...Array.from(token)],
        [filler, `${token}${'.'.repeat(70_000)}`],
      ]) {
        const tail = chunks.join('').slice(filler.length + token.length);
        expect(redactStream(['secret value'], chunks)).toBe(filler + expected + tail);
      }
    }
  });

  test.each([
    ['a token', `hvs.${'aB3'.repeat(100_000)}`, mark],
    ['a JWT', `eyJ${'a'.repeat(90_000)}.${'b'.repeat(90_000)}.${'c'.repeat(90_000)}`, mark],
    ['a header', `authorization: Bearer ${'x'.repeat(300_000)}`, `authorization: ${mark}`],
  ])('redacts %s that is longer than the text it may hold back, however it is split', (_what, token, expected) => {
    for (const size of [1000, 8191, 65_536, 400_000]) {
      const text = `before ${token} after\nnext`;
      const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
      expect(redactStream([], chunks)).toBe(`before ${expected} after\nnext`);
    }
  });

  it('redacts the credential of a header at which the released part ends', () => {
    const header = ' authorization: Bearer root ';
    for (let at = 0; at <= header.length; at++) {
      const rest = header.slice(at).padEnd(8192, '-');
      const text = '-'.repeat(65_536) + header.slice(0, at) + rest;
      const expected = text.replace('Bearer root', mark);
      expect(redactStream([], [text, '-end\n'])).toBe(`${expected}-end\n`);
    }
  });

  it('never splits a character', () => {
    const stream = createRedactor([]).redactStream();
    const shown = [stream.push(`${'😀'.repeat(40_000)}x`), stream.end()];
    expect(shown.map((piece) => piece.isWellFormed())).toEqual([true, true]);
    expect(shown[0]).not.toBe('');
  });

  test.each([
    ['a short value', 'ab '],
    ['what would be a token by itself', `s.${'a'.repeat(30)} `],
  ])('knows, after a release within an endless line, that a letter precedes %s', (_what, rest) => {
    const text = 'x'.repeat(65_536 - 8192) + rest.padEnd(8192, '-');
    expect(redactStream(['ab'], [text, '-end\n'])).toBe(`${text}-end\n`);
  });

  it('waits for the text after a short value', () => {
    const secrets = ['c\n', 'a\nb'];
    expect(redactStream(secrets, ['is c', 'one\n'])).toBe('is cone\n');
    expect(redactStream(secrets, ['is c\n', 'one'])).toBe(`is ${mark}\none`);
    expect(redactStream(secrets, ['is c\n', '- one'])).toBe(`is ${mark}- one`);
    expect(redactStream(secrets, ['is c\n- o', 'ne'])).toBe(`is ${mark}- one`);
    expect(redactStream(secrets, ['is a\n', 'b.'])).toBe(`is ${mark}.`);
  });
});

describe('redacting again', () => {
  test.each([
    ['REDACTED', 'is REDACTED', `is ${mark}`],
    ['[REDACTED]', 'is [REDACTED]', `is ${mark}`],
    ['pass[', 'passpass[', mark],
    ['ACT', 'is ACT, [REDACTED]', `is ${mark}, ${mark}`],
  ])('changes nothing if the secret %s resembles a mark', (secret, text, expected) => {
    expect(redact([secret], text)).toBe(expected);
    expect(redact([secret], expected)).toBe(expected);
  });

  it('replaces the whole text by a mark if each mark forms a new secret', () => {
    const redactor = createRedactor(['pass[']);
    expect(redactor.redact(`is ${'pass'.repeat(15)}[`)).toBe(`is ${mark}`);
    expect(redactor.redact(`is ${'pass'.repeat(16)}[`)).toBe(mark);
  });

  it('leaves a short value next to a mark', () => {
    expect(redactStream(['ab', 'tokenx'], ['tokenxab, abtokenx'])).toBe(`${mark}ab, ab${mark}`);
    expect(redactStream(['ab', 'tokenx'], [`${mark}ab, ab${mark}`])).toBe(`${mark}ab, ab${mark}`);
  });
});
