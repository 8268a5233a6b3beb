import { readFileSync } from 'node:fs';
import { dumps, urls, type Writer } from './byteForms.ts';
import { entities, shells } from './markupForms.ts';
import { jsons, reprs, yamls } from './quotedForms.ts';
import { createRedactor } from './redact.ts';
import { mark } from './shapes.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');

/** Every encoding that is looked for, by the name that the page has for it. */
const encodings: Record<string, Writer> = {
  'as it is': (text) => text,
  'doubled dollars': (text) => text.replaceAll('$', '$$$$'),
  ...jsons,
  'JSON in JSON': (text) => JSON.stringify(JSON.stringify(text).slice(1, -1)).slice(1, -1),
  'JSON in JSON of Go': (text) => jsons['JSON of Go']!(jsons['JSON of Go']!(text)),
  'JSON in %q of Go': (text) => jsons['%q of Go']!(jsons['JSON of Go']!(text)),
  'JSON in JSON of Python': (text) => jsons['JSON of Python']!(jsons['JSON of Python']!(text)),
  ...reprs,
  ...yamls,
  ...shells,
  ...entities,
  ...Object.fromEntries(Object.entries(urls).map(([name, [write]]) => [name, write])),
  ...Object.fromEntries(Object.entries(urls).map(([name, [, write]]) => [`${name}, in lower case`, write])),
  base64,
  'base64 without padding': (text) => base64(text).replace(/=+$/, ''),
  'base64 for URLs': (text) => Buffer.from(text).toString('base64url'),
  'base64 behind one byte': (text) => base64(`x${text}`).slice(2, Math.floor(((Buffer.byteLength(text) + 1) * 8) / 6)),
  'base64 behind two bytes': (text) =>
    base64(`xx${text}`).slice(3, Math.floor(((Buffer.byteLength(text) + 2) * 8) / 6)),
  ...Object.fromEntries(
    Object.entries(dumps).map(([name, write]) => [name, (text) => write(text).replace(/[ :,]+$/, '')]),
  ),
};

/** What each row of the page shows an encoding of, and a value so long that only the common ones are looked for. */
const sample = `it's "b\\<é>&$=/`;
const long = `${sample}\t\b`.repeat(300);

const page = readFileSync(new URL('../../../docs/guarantees.md', import.meta.url), 'utf8');
const section = page.slice(page.indexOf('## Encodings that redaction knows'));
const rows = Array.from(
  section.matchAll(/^\| ([^|]+?) +\| `+ ?(.*?) ?`+ +\| (yes|no) +\|$/gm),
  ([, ...cells]) => cells,
);

describe('the encodings that redaction knows', () => {
  it('stand on the page, all of them, in order', () => {
    expect(rows.map(([name]) => name)).toEqual(Object.keys(encodings));
  });

  it.each(Object.entries(encodings))('are hidden and shown: %s', (name, write) => {
    const [, shown, covered] = rows.find(([row]) => row === name) ?? [];
    expect(shown).toBe(write(sample));
    expect(createRedactor([sample]).redact(`- ${write(sample)} -`)).toBe(`- ${mark} -`);
    expect(createRedactor([long]).redact(write(long)) === mark ? 'yes' : 'no').toBe(covered);
  });
});
