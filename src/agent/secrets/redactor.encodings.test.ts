import { readFileSync } from 'node:fs';
import {
  byteDumpEncoders,
  type Encoder,
  entityEncoders,
  jsonEncoders,
  reprEncoders,
  shellEncoders,
  urlEncoders,
  yamlEncoders,
} from './encoders.ts';
import { createRedactor } from './redactor.ts';
import { redactionMark } from './streamRedactor.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Every encoding that redaction finds, by its name in docs/redaction.md. */
const encodings: Record<string, Encoder> = {
  unchanged: (text) => text,
  'doubled dollars': (text) => text.replaceAll('$', '$$$$'),
  ...jsonEncoders,
  'JSON in JSON': (text) => JSON.stringify(JSON.stringify(text).slice(1, -1)).slice(1, -1),
  'JSON in JSON of Go': (text) => jsonEncoders['JSON of Go']!(jsonEncoders['JSON of Go']!(text)),
  'JSON in %q of Go': (text) => jsonEncoders['%q of Go']!(jsonEncoders['JSON of Go']!(text)),
  'JSON in JSON of Python': (text) => jsonEncoders['JSON of Python']!(jsonEncoders['JSON of Python']!(text)),
  ...reprEncoders,
  ...yamlEncoders,
  ...shellEncoders,
  ...entityEncoders,
  ...Object.fromEntries(Object.entries(urlEncoders).map(([name, [encode]]) => [name, encode])),
  ...Object.fromEntries(Object.entries(urlEncoders).map(([name, [, encode]]) => [`${name}, in lower case`, encode])),
  base64,
  'base64 without padding': (text) => base64(text).replace(/=+$/, ''),
  'base64 for URLs': (text) => Buffer.from(text).toString('base64url'),
  'base64 behind one byte': (text) => base64(`x${text}`).slice(2, Math.floor(((Buffer.byteLength(text) + 1) * 8) / 6)),
  'base64 behind two bytes': (text) =>
    base64(`xx${text}`).slice(3, Math.floor(((Buffer.byteLength(text) + 2) * 8) / 6)),
  ...Object.fromEntries(
    Object.entries(byteDumpEncoders).map(([name, encode]) => [name, (text) => encode(text).replace(/[ :,]+$/, '')]),
  ),
};

/** The value that each row of the page shows in its encoding, and a value that is searched only in common encodings. */
const sample = `it's "b\\<é>&$=/`;
const long = `${sample}\t\b`.repeat(300);

const page = readFileSync(new URL('../../../docs/redaction.md', import.meta.url), 'utf8');
const section = page.slice(page.indexOf('## Encodings that redaction knows'));
const rows = Array.from(
  section.matchAll(/^\| ([^|]+?) +\| `+ ?(.*?) ?`+ +\| (yes|no) +\|$/gm),
  ([, ...cells]) => cells,
);

describe('the encodings that redaction knows', () => {
  it('are all on the page, in order', () => {
    expect(rows.map(([name]) => name)).toEqual(Object.keys(encodings));
  });

  it.each(Object.entries(encodings))('are redacted and documented: %s', (name, encode) => {
    const [, shown, covered] = rows.find(([row]) => row === name) ?? [];
    expect(shown).toBe(encode(sample));
    expect(createRedactor([sample]).redact(`- ${encode(sample)} -`)).toBe(`- ${redactionMark} -`);
    expect(createRedactor([long]).redact(encode(long)) === redactionMark ? 'yes' : 'no').toBe(covered);
  });
});
