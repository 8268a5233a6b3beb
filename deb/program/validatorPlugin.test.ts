import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ValidateFunction } from 'ajv';
import { build } from 'esbuild';
import { emptyState } from '../../src/agent/state/state.rules.ts';
import { bundleOptions } from '../bundle.ts';

const dir = mkdtempSync(join(tmpdir(), 'deployd-validators-'));
afterAll(() => rmSync(dir, { recursive: true }));

type Validators = Record<string, ValidateFunction>;

const record = { schema: 1, sha: 'a'.repeat(64), version: '1', sequence: 1, production: false };
const rows: [string, unknown[]][] = [
  ['src/agent/state/stateValidator.ts', [emptyState('eu-1'), { ...emptyState('eu-1'), applied_at: 'never' }, {}]],
  ['src/agent/release/releaseRecordValidator.ts', [{ ...record, services: [], images: [], compose: [] }, record]],
  ['src/api/manifestValidator.ts', [{ schema: 1, name: 'x'.repeat(201), env: 'eu-1', secrets: [{}], more: 1 }]],
  [
    'src/agent/config/configValidator.ts',
    [{ env: 7, tenancy_url: 'ftp://x', disk: { paths: ['/a', '/a'] }, interval_s: 0 }],
  ],
  ['src/tenancy/config/configValidator.ts', [{ listen: 'x', public_url: 'ftp://x', s3: { bucket: 1 }, more: 0 }]],
  ['src/api/answerValidators.ts', [{ action: 'x', bundle: {}, desired_sha: 'a'.repeat(64), lease: {} }, { lease: 1 }]],
  ['src/agent/token/tokenValidators.ts', [{ auth: { lease_duration: -1, renewable: true } }, { data: { ttl: 1 } }]],
  [
    'src/signatures/signatureValidators.ts',
    [{ SignedEntryTimestamp: 1, Payload: { logIndex: -1 }, kdf: { p: 17 } }, []],
  ],
];

it.each(rows)('%s gives the same results in the bundle', async (file, values) => {
  const outfile = join(dir, `${file.replaceAll('/', '-')}.cjs`);
  await build({ ...bundleOptions, banner: {}, entryPoints: [file], outfile });
  const load = createRequire(import.meta.url);
  const [bundled, original] = [load(outfile), await import(join('..', '..', file))] as Validators[];
  const validators = Object.entries(original!).filter(([, exported]) => typeof exported === 'function');
  expect(Object.keys(bundled!)).toEqual(validators.map(([name]) => name));
  for (const [name, validate] of validators)
    for (const value of values) {
      expect(bundled![name]!(value)).toBe(validate(value));
      expect(bundled![name]!.errors).toEqual(validate.errors);
    }
});
