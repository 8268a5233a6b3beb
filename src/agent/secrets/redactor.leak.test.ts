import fc from 'fast-check';
import { base64Fragment } from '../../../fixtures/world/canary/secretForms.ts';
import { random } from '../../../fixtures/world/sampling/random.ts';
import { seed } from '../../../fixtures/world/sampling/seed.ts';
import { createRedactor } from './redactor.ts';

/** Cases of each search: `FUZZ_RUNS`, 500 by default. */
const runs = Number(process.env['FUZZ_RUNS'] ?? 500);

const envEscapes: Record<string, string> = {
  $: '${DEPLOYD_Z_D}',
  '\\': '${DEPLOYD_Z_B}',
  '"': '${DEPLOYD_Z_Q}',
  '\r': '\\r',
};

const markup: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** The encodings, written independently of the code under test. */
const encoders: Record<string, (text: string) => string> = {
  plain: (text) => text,
  json: (text) => JSON.stringify(text),
  asciiJson: (text) => ascii(JSON.stringify(text)),
  phpJson: (text) => ascii(JSON.stringify(text)).split('/').join('\\/'),
  goJson: (text) => Array.from(JSON.stringify(text), (c) => ('<>&\u2028\u2029'.includes(c) ? hex4(c) : c)).join(''),
  dollars: (text) => text.split('$').join('$$'),
  quotedDollars: (text) => JSON.stringify(text.split('$').join('$$')),
  component: (text) => encodeURIComponent(text),
  lowerHex: (text) => Array.from(Buffer.from(text), (byte) => percent(byte)).join(''),
  form: (text) => new URLSearchParams([['k', text]]).toString().slice(2),
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  wrapped: (text) => Buffer.from(text).toString('base64').replace(/.{76}/g, '$&\n'),
  jsonInJson: (text) => JSON.stringify(JSON.stringify(text)),
  yaml: (text) => `'${text.split("'").join("''")}'`,
  shell: (text) => `'${text.split("'").join(`'\\''`)}'`,
  html: (text) => Array.from(text, (character) => markup[character] ?? character).join(''),
  entities: (text) => Array.from(text, (character) => `&#${character.codePointAt(0)!};`).join(''),
  hex: (text) => Array.from(Buffer.from(text), (byte) => byte.toString(16).padStart(2, '0')).join(''),
  decimals: (text) => Array.from(Buffer.from(text)).join(' '),
  env: (text) => Array.from(text, (character) => envEscapes[character] ?? character).join(''),
};

function ascii(text: string): string {
  return Array.from({ length: text.length }, (_, at) => (text[at]! > '\x7f' ? hex4(text[at]!) : text[at]!)).join('');
}

function hex4(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

function percent(byte: number): string {
  const character = String.fromCharCode(byte);
  return /[A-Za-z0-9_.~-]/.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`;
}

const hostile = fc.constantFrom(
  ...Array.from('aA0$$\\"\'`{}[]#=&<>/+-_.%:\n\r\t \u0001\u007f\u0085\u2028\ufeffé漢😀'),
  ...['\r\n', '$$', 'eyJ', 'hvs.', 'Bearer '],
);
const unit = fc.oneof(
  { weight: 3, arbitrary: hostile },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }) },
);
const secret = fc
  .oneof(
    fc.string({ unit, minLength: 4, maxLength: 40 }),
    fc.string({ unit: 'grapheme', minLength: 4, maxLength: 200 }),
  )
  .filter((text) => Array.from(text).length >= 4 && text.trim() !== '');
const noise = fc.string({ unit, maxLength: 12 });

/** Secrets, and a text that contains some of them in some encodings. */
const leakyText = fc.array(secret, { minLength: 1, maxLength: 6 }).chain((secrets) => {
  const leak = fc.tuple(fc.constantFrom(...secrets), fc.constantFrom(...Object.keys(encoders)));
  const piece = fc.oneof(
    noise,
    leak.map(([text, encoder]) => encoders[encoder]!(text)),
    fc.tuple(noise, fc.constantFrom(...secrets), noise).map((parts) => Buffer.from(parts.join('')).toString('base64')),
  );
  return fc.record({
    secrets: fc.constant(secrets),
    text: fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
  });
});

const cuts = fc.array(
  fc.nat({ max: 7 }).map((length) => length + 1),
  { minLength: 1, maxLength: 30 },
);

function stream(secrets: string[], text: string, lengths: number[]): string {
  const redacting = createRedactor(secrets).redactStream();
  const bytes = Buffer.from(text);
  let shown = '';
  for (let at = 0, round = 0; at < bytes.length; round++) {
    const to = at + lengths[round % lengths.length]!;
    shown += redacting.push(bytes.subarray(at, to));
    at = to;
  }
  return shown + redacting.end();
}

/** The encoded forms of the secrets that are still in `shown`. */
function leaksIn(secrets: string[], shown: string): string[] {
  const pieces = shown.split('[REDACTED]');
  const forms = secrets.flatMap((text) => [
    ...Object.values(encoders).map((encode) => encode(text)),
    ...[0, 1, 2].map((shift) => base64Fragment(text, shift)),
  ]);
  return forms.filter((form) => pieces.some((piece) => piece.includes(form)));
}

describe('no encoding of a secret', () => {
  beforeAll(() => process.stderr.write(`redact leak search: seed=${seed}\n`));

  it('is left in any text, however it is split, and redacting again changes nothing', () => {
    fc.assert(
      fc.property(leakyText, cuts, ({ secrets, text }, lengths) => {
        const redactor = createRedactor(secrets);
        const shown = stream(secrets, text, lengths);
        const redacted = redactor.redact(text);
        expect(leaksIn(secrets, shown)).toEqual([]);
        expect(leaksIn(secrets, redacted)).toEqual([]);
        expect(redactor.redact(shown)).toBe(redacted);
        expect(redactor.redact(redacted)).toBe(redacted);
      }),
      { seed, numRuns: runs },
    );
  }, 600_000);

  it('is left in part at the end of a truncated text', () => {
    fc.assert(
      fc.property(leakyText, fc.nat(), ({ secrets, text }, at) => {
        const redactor = createRedactor(secrets);
        const head = Array.from(text)
          .slice(0, at % (text.length + 1))
          .join('');
        expect(redactor.redact(text).startsWith(redactor.redactTruncated(head))).toBe(true);
      }),
      { seed, numRuns: runs },
    );
  }, 600_000);

  it('is found in a text without secrets, which stays unchanged', () => {
    const words = fc
      .array(fc.string({ unit: fc.constantFrom(...Array.from('abc é\n-')), maxLength: 20 }))
      .map((all) => all.join(' '));
    fc.assert(
      fc.property(words, cuts, (text, lengths) => {
        expect(stream(['SECRET-ONE', 'SECRET"TWO'], text, lengths)).toBe(text);
      }),
      { seed },
    );
  });
});

describe('the time of redaction', () => {
  it('is linear in the text, even if texts and secrets are repetitive', () => {
    const secrets = Array.from({ length: 500 }, (_, index) => 'a'.repeat(index + 4));
    const redactor = createRedactor([...secrets, `${'a'.repeat(50_000)}b`]);
    expect(redactor.redact('a'.repeat(3_000_000))).toBe('[REDACTED]');
    for (const text of ['eyJ', 'eyJaaaaaaaaaaa.', 's.', 'hvs.', 'glpat-', 'authorization', 'private-token:  ']) {
      expect(redactor.redact(text.repeat(1_000_000 / text.length))).not.toBe('');
    }
  }, 60_000);

  it('is linear in a truncated text', () => {
    expect(createRedactor(['hunter2-hunter2']).redactTruncated('a'.repeat(3_000_000)).length).toBeLessThan(3_000_000);
  });

  it('is linear in long values of many hostile lines', () => {
    const units = Array.from('$\\"\'\näa😀</%');
    const next = random(1);
    const any = () => units[Math.floor(next() * units.length)] ?? '';
    const values = Array.from({ length: 4 }, () => Array.from({ length: 100_000 }, any).join(''));
    const text = values.map((each) => encodeURIComponent(each)).join(' ');
    expect(createRedactor(values).redact(text)).toBe(Array(4).fill('[REDACTED]').join(' '));
  }, 60_000);
});
