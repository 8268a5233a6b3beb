import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { seed } from '../../../fixtures/world/sampling/seed.ts';
import { unusableReason } from '../../api/manifest.rules.ts';
import { parseEnvFile, renderEnvFile } from './envFile.rules.ts';

interface Vectors {
  preamble: string;
  vectors: { value: string; line: string }[];
}

const file = new URL('../../../fixtures/world/bundles/dotenv-vectors.json', import.meta.url);
const { preamble, vectors } = JSON.parse(readFileSync(file, 'utf8')) as Vectors;

const hostile = fc.constantFrom(...Array.from('$\\"\'`{}#=\n\r\t \u0001\u0085\u2028\ufeff%é漢😀aZ0'));
const value = fc.oneof(fc.string({ unit: hostile }), fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }));
const name = fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,20}$/);

describe('.env', () => {
  test.each(vectors)('renders $value in the form that every compose version parses alike', ({ value, line }) => {
    const text = renderEnvFile(new Map([['V', value]]));
    expect(text).toBe(preamble + line);
    expect(parseEnvFile(text)).toEqual(new Map([['V', value]]));
  });

  it('returns every value byte for byte', () => {
    process.stderr.write(`envFile round trip: seed=${seed}\n`);
    const usable = value.filter((text) => unusableReason('V', text) === null);
    const values = fc.array(fc.tuple(name, usable)).map((pairs) => new Map(pairs));
    fc.assert(
      fc.property(values, (written) => {
        expect(parseEnvFile(renderEnvFile(written))).toEqual(written);
      }),
      { seed, numRuns: 2000 },
    );
  });

  it('distinguishes the text of an escape from the escape', () => {
    const values = new Map([['A', '${DEPLOYD_Z_B}\\r']]);
    expect(parseEnvFile(renderEnvFile(values))).toEqual(values);
  });

  it('contains only the escape variables when there are no values', () => {
    expect(renderEnvFile(new Map())).toBe(preamble);
    expect(parseEnvFile(preamble)).toEqual(new Map());
  });

  test.each([
    ['another tool wrote it', 'PASSWORD=hunter2\n'],
    ['it is truncated', `${preamble}PASSWORD="hunter2`],
    ['something follows a value', `${preamble}PASSWORD="hunter2" # hunter2\n`],
    ['a name is not one', `${preamble}1PASSWORD="hunter2"\n`],
    ['its line ends were converted', `${preamble}PASSWORD="hunter2\r\nx"\n`],
  ])('is not parsed when %s', (_why, text) => {
    expect(parseEnvFile(text)).toBeNull();
  });
});
