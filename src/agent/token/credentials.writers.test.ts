import { readFileSync } from 'node:fs';
import { sourceFiles } from '../../../fixtures/tools/architecture/imports.ts';

const filesWith = (pattern: RegExp) => sourceFiles.filter((file) => pattern.test(readFileSync(file, 'utf8')));

it('only the token services write store.token', () => {
  const writers = filesWith(/\bwriteToken\(/);
  expect(writers.length).toBeGreaterThan(0);
  expect(writers.filter((file) => !file.startsWith('src/agent/token/'))).toEqual([]);
});

it('only the adapter that writes store.token names the file, and doctor, which reads its owner and mode', () => {
  expect(filesWith(/['"`]store\.token['"`]/)).toEqual(['src/agent/doctor/host.ts', 'src/agent/token/credentials.ts']);
});
