import { createRedactor } from './redactor.ts';

const mark = '[REDACTED]';
const jwt = `eyJ${'a'.repeat(20)}.eyJ${'b'.repeat(40)}.${'c_-'.repeat(20)}`;

describe('a truncated text', () => {
  const secrets = [
    'correct horse battery staple',
    'first line\nsecond line',
    'pqx',
    'l'.repeat(70).concat('m'.repeat(5000)),
  ];

  it.each([...secrets, jwt, 'authorization: Bearer abcdef'])(
    'shows nothing of the beginning of a secret (%#)',
    (secret) => {
      const text = `all is well: ${secret} `;
      const redactor = createRedactor(secrets);
      for (let cut = 'all is well: '.length; cut < text.length; cut += text.length > 1000 ? 97 : 1) {
        const head = redactor.redactTruncated(text.slice(0, cut));
        expect('all is well: authorization: '.startsWith(head.replaceAll(mark, ''))).toBe(true);
      }
    },
  );

  it('loses its last word, which could begin a token, and a truncated character', () => {
    const cutCharacter = Buffer.from('the café is é').subarray(0, -1).toString();
    expect(createRedactor([]).redactTruncated(cutCharacter)).toBe('the café is ');
    expect(createRedactor(['is ésecret']).redactTruncated(cutCharacter)).toBe('the café ');
    expect(createRedactor(['one two']).redactTruncated('\ufffd is one t\ufffd\ufffd\ufffd')).toBe('\ufffd is ');
    expect(createRedactor(['ab']).redactTruncated('is ab, so')).toBe('is ');
    expect(createRedactor([]).redactTruncated('one\ntwo')).toBe('one\n');
    expect(createRedactor([]).redactTruncated('one\ntwo\n')).toBe('one\ntwo\n');
    expect(createRedactor([]).redactTruncated('')).toBe('');
  });
});
