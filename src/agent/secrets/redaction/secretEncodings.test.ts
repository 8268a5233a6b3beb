import fc from 'fast-check';
import { encodedFormsOf } from './secretEncodings.ts';

const secret = 'p@ss "w/ö+r<d>&\\ $1\n😀\u0085';

describe('the encoded forms of a secret', () => {
  test.each([
    ['plain', secret],
    ['JSON', JSON.stringify(secret).slice(1, -1)],
    ['JSON of Go', 'p@ss \\"w/ö+r\\u003cd\\u003e\\u0026\\\\ $1\\n😀\u0085'],
    ['JSON of PHP', 'p@ss \\"w\\/\\u00f6+r<d>&\\\\ $1\\n\\ud83d\\ude00\\u0085'],
    ['JSON of Python', 'p@ss \\"w/\\u00f6+r<d>&\\\\ $1\\n\\ud83d\\ude00\\u0085'],
    ['%q of Go', 'p@ss \\"w/ö+r<d>&\\\\ $1\\n😀\\u0085'],
    ['with doubled dollars', secret.replaceAll('$', () => '$$')],
    ['%q with doubled dollars', 'p@ss \\"w/ö+r<d>&\\\\ $$1\\n😀\\u0085'],
    ['.env', 'p@ss ${DEPLOYD_Z_Q}w/ö+r<d>&${DEPLOYD_Z_B} ${DEPLOYD_Z_D}1\n😀\u0085'],
    ['JSON of .env', 'p@ss ${DEPLOYD_Z_Q}w/ö+r<d>&${DEPLOYD_Z_B} ${DEPLOYD_Z_D}1\\n😀\u0085'],
    ['JSON in JSON of Go', 'p@ss \\\\\\"w/ö+r\\u003cd\\u003e\\u0026\\\\\\\\ $1\\\\n😀\u0085'],
    ['component', encodeURIComponent(secret)],
    ['component in lower case', encodeURIComponent(secret).replace(/%../g, (hex) => hex.toLowerCase())],
    ['form', new URLSearchParams({ '': secret }).toString().slice(1)],
    ['password of a URL', Object.assign(new URL('http://a@b'), { password: secret.replace('\n', '') }).password, '\n'],
    ['base64', Buffer.from(secret).toString('base64')],
    ['base64 without padding', Buffer.from(secret).toString('base64').replace(/=+$/, '')],
    ['base64 for URLs', Buffer.from(secret).toString('base64url')],
  ])('include %s', (_name, form, without = '') => {
    expect([...encodedFormsOf([secret.replace(without, '')])]).toContain(form);
  });

  it('include its fragments in the base64 of any longer text', () => {
    const long = fc.string({ unit: 'binary', minLength: 4 }).filter((text) => Buffer.byteLength(text) >= 4);
    fc.assert(
      fc.property(fc.string(), long, fc.string(), (before, text, after) => {
        const whole = Buffer.from(before + text + after);
        const forms = [...encodedFormsOf([text])];
        for (const encoding of ['base64', 'base64url'] as const) {
          const encoded = whole.toString(encoding);
          const from = Math.ceil((Buffer.byteLength(before) * 8) / 6);
          const to = Math.floor((Buffer.byteLength(before + text) * 8) / 6);
          expect(forms).toContain(encoded.slice(from, to));
        }
      }),
    );
  });

  it('include the lines of a base64 text with line breaks', () => {
    const text = 'x\u00ff?'.repeat(70);
    const base64 = Buffer.from(text).toString('base64');
    expect([...encodedFormsOf([text])]).toEqual(
      expect.arrayContaining([base64.slice(0, 76), base64.slice(76, 152), base64.slice(64, 128)]),
    );
  });

  it('include a text only once if no encoding except base64 changes it', () => {
    expect([...encodedFormsOf(['abc123'])].filter((form) => form.includes('abc'))).toEqual(['abc123']);
  });

  it('include no empty text', () => {
    expect(encodedFormsOf([''])).toEqual([]);
  });

  it('are those of each text, whatever characters the others contain', () => {
    const rare = Array.from({ length: 1000 }, (_, at) => String.fromCharCode(0xa000 + at)).join('');
    const texts = ['one"text', rare, 'another"text'];
    expect(encodedFormsOf(texts).sort()).toEqual(texts.flatMap((text) => encodedFormsOf([text])).sort());
  });

  it('include no byte dump or fragment that is likely to occur by chance', () => {
    const forms = encodedFormsOf(['ab', 'abc']);
    expect(forms.filter((form) => form.length < 4).sort()).toEqual(['YWI', 'ab', 'abc']);
    expect(forms).toEqual(expect.arrayContaining(['6162', '97 98', '97,98', '97, 98', '61:62', 'YWI=', 'YWJj']));
    expect(encodedFormsOf(['a'])).not.toContain('97');
    expect(encodedFormsOf(['abcd'])).toContain(Buffer.from('xabcd').toString('base64').slice(2, 6));
  });
});
