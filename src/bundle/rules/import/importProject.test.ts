import { parse } from 'yaml';
import { importedBundle } from '../../../../fixtures/import/importing.ts';

it('leaves a file as it is that needs no change, with its comments and anchors', () => {
  const text =
    '# shop\nx-a: &a\n  restart: always # yes\nservices:\n  a:\n    <<: *a\n    image: x:1\n    cap_add: []\n';
  const { composeFiles, report, manifest, copies } = importedBundle({ 'compose.yaml': text });
  expect([...composeFiles]).toEqual([['compose.yaml', text]]);
  expect({ report, copies: copies.size }).toEqual({
    report: { changes: [], undecided: [], inactive_profiles: [] },
    copies: 0,
  });
  const fixed = { schema: 1, name: 'shop', env: 'eu-1', version: '1', sequence: 0 };
  expect(manifest).toEqual({ ...fixed, compose: ['compose.yaml'], secrets: [] });
});

it('keeps apart what services share', () => {
  const text = [
    'x-e: &e {A: 1}',
    'x-b: &b {image: x, env_file: .env, environment: *e}',
    'services: {a: *b, b: {<<: *b, environment: {<<: *e, C: 3}}, c: {image: y, environment: *e}}',
  ];
  const { composeFiles } = importedBundle({ 'compose.yaml': text.join('\n'), '.env': 'B=2\n' });
  const { services } = parse([...composeFiles.values()][0] ?? '', { merge: true }) as { services: object };
  expect(services).toEqual({
    a: { image: 'x', environment: { A: 1, B: '${B}' } },
    b: { image: 'x', environment: { A: 1, C: 3, B: '${B}' } },
    c: { image: 'y', environment: { A: 1 } },
  });
});
