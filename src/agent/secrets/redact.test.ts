import { createRedactor } from './redact.ts';

const mark = '[REDACTED]';
const jwt = `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(40)}.${'c_-'.repeat(20)}`;

function redactStream(secrets: string[], chunks: (Buffer | string)[]): string {
  const stream = createRedactor(secrets).stream();
  return chunks.map((chunk) => stream.push(chunk)).join('') + stream.end();
}

function redact(secrets: string[], text: string): string {
  return createRedactor(secrets).redact(text);
}

describe('token shapes', () => {
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
  ])('hide %s', (_name, token) => {
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
  ])('hide what a header carries in %j', (text, expected) => {
    expect(redact([], text)).toBe(expected);
    expect(redact([], expected)).toBe(expected);
  });

  test.each([
    ['a digest', 'a'.repeat(64)],
    ['a file name', 'logs.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa and s.short'],
    ['base64 JSON that is no JWT', `eyJ${'a'.repeat(200)} .b`],
    ['a header without a value', 'authorization:\nnext line'],
    ['a check-in line', `check-in: action=apply desired=${'0a'.repeat(32)} applied=none`],
  ])('leave %s alone', (_name, text) => {
    expect(redact([], text)).toBe(text);
  });

  it('hide a token cut anywhere', () => {
    const text = `x ${jwt} authorization: Bearer root\n`;
    for (let cut = 0; cut <= text.length; cut++) {
      expect(redactStream([], [text.slice(0, cut), text.slice(cut)])).toBe(`x ${mark} authorization: ${mark}\n`);
    }
  });
});

describe('values', () => {
  test.each([
    ['overlapping ones become one mark', ['abcdef', 'defghi'], '-abcdefghi-', `-${mark}-`],
    ['ones side by side keep a mark each', ['abcd', 'efgh'], '-abcdefgh-', `-${mark}${mark}-`],
    ['the longest wins', ['abcd', 'abcdefgh'], 'abcdefgh abcdef', `${mark} ${mark}ef`],
    [
      'each line of a multi-line one',
      ['first line\r\n  second line\nxy'],
      'a: second line, b: first line, xy',
      `a: ${mark}, b: ${mark}, xy`,
    ],
    ['one with a line end, printed without', ['hunter2\n'], 'is hunter2!', `is ${mark}!`],
    [
      'a line in base64',
      ['first line\nsecond line'],
      `<${Buffer.from('second line').toString('base64')}>`,
      `<${mark}>`,
    ],
    ['short ones standing alone', ['ab', 'é'], 'ab (ab) ab=é 😀ab', `${mark} (${mark}) ${mark}=${mark} 😀${mark}`],
    ['no short ones inside a word', ['ab', 'é'], 'abc 1ab zébu éab 𝐚ab ab𝟕', 'abc 1ab zébu éab 𝐚ab ab𝟕'],
    ['a short one inside another that does not stand alone', ['a-b', 'b'], 'xa-b', `xa-${mark}`],
    ['blank ones not at all', [' ', '\n', ''], 'a b\n', 'a b\n'],
    ['a short one with a line end, printed without', ['abc\n'], 'is abc!', `is ${mark}!`],
    ['short lines of one that has no others', ['ab\n c\n'], 'is ab, c', `is ${mark}, ${mark}`],
    ['no short lines of one that has others', ['{\n  "key": 1\n}'], 'is {}', 'is {}'],
    ['a mark within', [`pre${mark}post`], `pre${mark}post`, mark],
  ])('are hidden: %s', (...[, secrets, text, expected]) => {
    expect(redact(secrets, text)).toBe(expected);
  });

  it('are hidden across the cut of a multi-byte character', () => {
    const bytes = Buffer.from('vor pässwörd😀 nach\n');
    for (let cut = 0; cut <= bytes.length; cut++) {
      expect(redactStream(['pässwörd😀'], [bytes.subarray(0, cut), bytes.subarray(cut)])).toBe(`vor ${mark} nach\n`);
    }
  });

  it('are hidden in a long text that comes byte by byte', () => {
    const bytes = Buffer.from('so s3cret-pässwörd it is\n');
    const chunks = Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
    expect(redactStream(['s3cret-pässwörd'], chunks)).toBe(`so ${mark} it is\n`);
  });
});

describe('a stream', () => {
  it('lets go of a line as soon as it ends', () => {
    const stream = createRedactor(['secret value']).stream();
    expect(stream.push('one\ntwo')).toBe('one\n');
    expect(stream.push(' is secret val')).toBe('');
    expect(stream.push('ue\nthree')).toBe(`two is ${mark}\n`);
    expect(stream.end()).toBe('three');
  });

  it('holds back a line end that may belong to a value', () => {
    const stream = createRedactor(['long\nb\nlast']).stream();
    expect(stream.push('x a long\nb\n')).toBe('x a ');
    expect(stream.push('d\n')).toBe(`${mark}\nb\nd\n`);
  });

  it('passes on a line without end in bounded memory', () => {
    const stream = createRedactor(['secret value']).stream();
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
      'a token at every distance from the cut',
      (at: number) => ['-'.repeat(at), ` hvs.${'aB3'.repeat(40)} `],
      ` ${mark} `,
    ],
    ['a header', (at: number) => ['-'.repeat(at), ' authorization: Bearer root '], ` authorization: ${mark} `],
    ['a JWT', (at: number) => ['-'.repeat(at), ` ${jwt} `], ` ${mark} `],
    ['a value', (at: number) => ['-'.repeat(at), ' secret value '], ` ${mark} `],
  ])('hides, in a line without end, %s', (_what, build, expected) => {
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
  ])('hides %s that is longer than all it may hold, however it is cut', (_what, token, expected) => {
    for (const size of [1000, 8191, 65_536, 400_000]) {
      const text = `before ${token} after\nnext`;
      const chunks = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
      expect(redactStream([], chunks)).toBe(`before ${expected} after\nnext`);
    }
  });

  it('hides what a header carries wherever in it the part that is let go ends', () => {
    const header = ' authorization: Bearer root ';
    for (let at = 0; at <= header.length; at++) {
      const rest = header.slice(at).padEnd(8192, '-');
      const text = '-'.repeat(65_536) + header.slice(0, at) + rest;
      const expected = text.replace('Bearer root', mark);
      expect(redactStream([], [text, '-end\n'])).toBe(`${expected}-end\n`);
    }
  });

  it('never cuts a character in two', () => {
    const stream = createRedactor([]).stream();
    const shown = [stream.push(`${'😀'.repeat(40_000)}x`), stream.end()];
    expect(shown.map((piece) => piece.isWellFormed())).toEqual([true, true]);
    expect(shown[0]).not.toBe('');
  });

  test.each([
    ['a short value', 'ab '],
    ['what would be a token by itself', `s.${'a'.repeat(30)} `],
  ])('remembers, at the cut of a line without end, that a letter stood before %s', (_what, rest) => {
    const text = 'x'.repeat(65_536 - 8192) + rest.padEnd(8192, '-');
    expect(redactStream(['ab'], [text, '-end\n'])).toBe(`${text}-end\n`);
  });

  it('waits for what follows a short value', () => {
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
  ])('changes nothing where the secret %s looks like a mark', (secret, text, expected) => {
    expect(redact([secret], text)).toBe(expected);
    expect(redact([secret], expected)).toBe(expected);
  });

  it('ends with a mark for all of a text that makes a new secret of each mark', () => {
    const redactor = createRedactor(['pass[']);
    expect(redactor.redact(`is ${'pass'.repeat(5)}[`)).toBe(`is ${mark}`);
    expect(redactor.redact(`is ${'pass'.repeat(100_000)}[`)).toBe(mark);
  });

  it('does not reach a short value that adjoined what is now a mark', () => {
    expect(redactStream(['ab', 'tokenx'], ['tokenxab, abtokenx'])).toBe(`${mark}ab, ab${mark}`);
    expect(redactStream(['ab', 'tokenx'], [`${mark}ab, ab${mark}`])).toBe(`${mark}ab, ab${mark}`);
  });
});

describe('a text that somebody cut', () => {
  const secrets = [
    'correct horse battery staple',
    'first line\nsecond line',
    'pqx',
    'l'.repeat(70).concat('m'.repeat(5000)),
  ];

  it.each([...secrets, jwt, 'authorization: Bearer abcdef'])('shows nothing of the head of a secret (%#)', (secret) => {
    const text = `all is well: ${secret} `;
    for (let cut = 'all is well: '.length; cut < text.length; cut += text.length > 1000 ? 97 : 1) {
      const head = createRedactor(secrets).redactHead(text.slice(0, cut));
      expect('all is well: authorization: '.startsWith(head.replaceAll(mark, ''))).toBe(true);
    }
  });

  it('loses its last word, which could be the head of a token, and half a character', () => {
    const cutCharacter = Buffer.from('the café is é').subarray(0, -1).toString();
    expect(createRedactor([]).redactHead(cutCharacter)).toBe('the café is ');
    expect(createRedactor(['is ésecret']).redactHead(cutCharacter)).toBe('the café ');
    expect(createRedactor([]).redactHead('one\ntwo')).toBe('one\n');
    expect(createRedactor([]).redactHead('one\ntwo\n')).toBe('one\ntwo\n');
    expect(createRedactor([]).redactHead('')).toBe('');
  });

  it('is redacted in time that is linear in it', () => {
    expect(createRedactor(['hunter2-hunter2']).redactHead('a'.repeat(3_000_000)).length).toBeLessThan(3_000_000);
  });
});
