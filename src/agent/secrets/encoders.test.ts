import {
  type Encoder,
  entityEncoders,
  jsonEncoders,
  reprEncoders,
  shellEncoders,
  urlEncoders,
  yamlEncoders,
} from './encoders.ts';

const encoders: Readonly<Record<string, Encoder>> = {
  ...jsonEncoders,
  ...reprEncoders,
  ...yamlEncoders,
  ...shellEncoders,
  ...entityEncoders,
};

/** Control characters, blanks of Unicode, and characters that a program may consider as unprintable. */
const special = '\0\x01\x07\b\t\n\v\f\r\x1b\x7f\x85\xa0Ā\u2028\u2029\ufeff\uffff😀\u{e0001}';

/** The text with `<code point>` for each character that is not printable ASCII. */
function toVisible(text: string): string {
  return text.replace(/[^ -~]/gu, (character) => `<${character.codePointAt(0)!.toString(16)}>`);
}

it.each([
  [
    'JSON of Go',
    String.raw`\u0000\u0001\u0007\b\t\n\u000b\f\r\u001b<7f><85><a0><100>\u2028\u2029<feff><ffff><1f600><e0001>`,
  ],
  ['%q of Go', String.raw`\x00\x01\a\b\t\n\v\f\r\x1b\x7f\u0085\u00a0<100>\u2028\u2029\ufeff\uffff<1f600>\U000e0001`],
  [
    'JSON of older Go',
    String.raw`\u0000\u0001\u0007\u0008\t\n\u000b\u000c\r\u001b<7f><85><a0><100>\u2028\u2029<feff><ffff><1f600><e0001>`,
  ],
  [
    'JSON of Python',
    String.raw`\u0000\u0001\u0007\b\t\n\u000b\f\r\u001b\u007f\u0085\u00a0\u0100\u2028\u2029\ufeff\uffff\ud83d\ude00\udb40\udc01`,
  ],
  [
    '%+q of Go',
    String.raw`\x00\x01\a\b\t\n\v\f\r\x1b\x7f\u0085\u00a0\u0100\u2028\u2029\ufeff\uffff\U0001f600\U000e0001`,
  ],
  [
    'repr of Python',
    String.raw`\x00\x01\x07\x08\t\n\x0b\x0c\r\x1b\x7f\x85\xa0<100>\u2028\u2029\ufeff\uffff<1f600>\U000e0001`,
  ],
  [
    'ascii of Python',
    String.raw`\x00\x01\x07\x08\t\n\x0b\x0c\r\x1b\x7f\x85\xa0\u0100\u2028\u2029\ufeff\uffff\U0001f600\U000e0001`,
  ],
  [
    'bytes of Python',
    String.raw`\x00\x01\x07\x08\t\n\x0b\x0c\r\x1b\x7f\xc2\x85\xc2\xa0\xc4\x80\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf\xef\xbf\xbf\xf0\x9f\x98\x80\xf3\xa0\x80\x81`,
  ],
  [
    'inspect of Node',
    String.raw`\x00\x01\x07\b\t\n\x0B\f\r\x1B\x7F\x85<a0><100><2028><2029><feff><ffff><1f600><e0001>`,
  ],
  ['YAML between double quotes', String.raw`\0\x01\a\b\t\n\v\f\r\e\x7F\N\_<100>\L\P\uFEFF\uFFFF<1f600><e0001>`],
  [
    'YAML between double quotes in ASCII',
    String.raw`\0\x01\a\b\t\n\v\f\r\e\x7F\N\_\u0100\L\P\uFEFF\uFFFF\U0001F600\U000E0001`,
  ],
  [
    "shell between $' and '",
    String.raw`\000\001\a\b\t\n\v\f\r\E\177\302\205<a0><100>\342\200\250\342\200\251<feff><ffff><1f600><e0001>`,
  ],
  [
    "shell between $' and ' in ASCII",
    String.raw`\000\001\a\b\t\n\v\f\r\E\177\302\205\302\240\304\200\342\200\250\342\200\251\357\273\277\357\277\277\360\237\230\200\363\240\200\201`,
  ],
  [
    'XML of Go',
    String.raw`<fffd><fffd><fffd><fffd>&#x9;&#xA;<fffd><fffd>&#xD;<fffd><7f><85><a0><100><2028><2029><feff><fffd><1f600><e0001>`,
  ],
  [
    'HTML of Python in ASCII',
    String.raw`<0><1><7><8><9><a><b><c><d><1b><7f>&#133;&#160;&#256;&#8232;&#8233;&#65279;&#65535;&#128512;&#917505;`,
  ],
  [
    'decimal entities',
    String.raw`&#0;&#1;&#7;&#8;&#9;&#10;&#11;&#12;&#13;&#27;&#127;&#133;&#160;&#256;&#8232;&#8233;&#65279;&#65535;&#128512;&#917505;`,
  ],
  [
    'hexadecimal entities',
    String.raw`&#x0;&#x1;&#x7;&#x8;&#x9;&#xa;&#xb;&#xc;&#xd;&#x1b;&#x7f;&#x85;&#xa0;&#x100;&#x2028;&#x2029;&#xfeff;&#xffff;&#x1f600;&#xe0001;`,
  ],
  [
    'hexadecimal entities in upper case',
    String.raw`&#x0;&#x1;&#x7;&#x8;&#x9;&#xA;&#xB;&#xC;&#xD;&#x1B;&#x7F;&#x85;&#xA0;&#x100;&#x2028;&#x2029;&#xFEFF;&#xFFFF;&#x1F600;&#xE0001;`,
  ],
])('%s writes special characters as the program does', (name, form) => {
  expect(toVisible(encoders[name]!(special))).toBe(form);
});

it.each([
  ['shell with backslashes', 'a#b ~c', String.raw`a#b\ ~c`],
  ['shell with backslashes', '~a=~b:~c', String.raw`~a=\~b:\~c`],
  ['shell with backslashes', '-_.+/@%', '-_.+/@%'],
  ['shell with backslashes', '\t!"$&\'()', '\\\t\\!\\"\\$\\&\\\'\\(\\)'],
  ['shell with backslashes', '*,;<>?[\\]^`{|}', '\\*\\,\\;\\<\\>\\?\\[\\\\\\]\\^\\`\\{\\|\\}'],
  ['%q of Go', 'é漢', 'é漢'],
  ['%q of Go', '\x80', '\\u0080'],
  ['%+q of Go', '\u{10000}', '\\U00010000'],
  ['YAML between double quotes in ASCII', '\u{10000}', '\\U00010000'],
  ['HTML of Handlebars', '`', '&#x60;'],
  ['HTML of Mustache', '`', '&#x60;'],
])('%s writes %j as %j', (name, text, form) => {
  expect(encoders[name]!(text)).toBe(form);
});

describe('the encoders of URLs', () => {
  const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(0x20 + at)).join('');

  it.each([
    ['URL, a component', encodeURIComponent(printable)],
    ['URL, whole', encodeURI(printable)],
    ['URL, a form', new URLSearchParams({ '': printable }).toString().slice(1).replace('+', '%20')],
    ['URL, its password', Object.assign(new URL('http://a@b'), { password: printable }).password],
    ['URL, every byte', printable.replace(/./g, (unit) => `%${unit.charCodeAt(0).toString(16).toUpperCase()}`)],
  ])('write the same as Node: %s', (name, form) => {
    expect(urlEncoders[name]![0](printable)).toBe(form);
  });

  it.each([
    ['URL, RFC 3986', '-._~'],
    ['URL, a path of Go', '$&+-.:=@_~'],
    ['URL, a user of Go', '$&+,-.;=_~'],
    ['URL, a path of Python', '-./_~'],
  ])('leave letters, digits and little else unencoded: %s', (name, punctuation) => {
    const unencoded = urlEncoders[name]![0](printable).replace(/%../g, '');
    expect(unencoded.replace(/[A-Za-z0-9]/g, '')).toBe(punctuation);
    expect(unencoded).toHaveLength(62 + punctuation.length);
  });
});
