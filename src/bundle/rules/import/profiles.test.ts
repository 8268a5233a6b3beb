import { importedBundle } from '../../../../fixtures/import/importing.ts';

const compose = 'services: {a: {image: x}, b: {image: y, profiles: [p, q]}, c: {image: z, profiles: [r]}}\n';

/** What came of the choice of these profiles. */
function choiceOf(...names: string[]) {
  const choices = { profiles: { names, by: 'COMPOSE_PROFILES of .env' } };
  const { manifest, composeFiles, report } = importedBundle({ 'compose.yaml': compose }, choices);
  expect(composeFiles.get('compose.yaml')).toContain('profiles: [p, q]');
  const { changes, undecided, inactive_profiles: inactive } = report;
  const told = [...changes.map(({ what, why }) => `${what}: ${why}`), ...undecided.map(({ what }) => what)];
  return { profiles: manifest.profiles, inactive, told };
}

it.each<[string, string[], ReturnType<typeof choiceOf>]>([
  ['none is chosen by itself', [], { profiles: undefined, inactive: ['p', 'q', 'r'], told: [] }],
  [
    'a chosen one is in the manifest',
    ['r'],
    { profiles: ['r'], inactive: ['p', 'q'], told: ['r: chosen by COMPOSE_PROFILES of .env'] },
  ],
  [
    'all are',
    ['*', 'p'],
    { profiles: ['p', 'q', 'r'], inactive: [], told: ['p, q, r: chosen by COMPOSE_PROFILES of .env'] },
  ],
  [
    'one that no service has is left to decide',
    ['s'],
    { profiles: undefined, inactive: ['p', 'q', 'r'], told: ['no service has the profile s'] },
  ],
])('of the profiles of a project %s', (_title, names, expected) => {
  expect(choiceOf(...names)).toEqual(expected);
});

it('the profiles that services share by a merge key are found', () => {
  const text = 'x-base: &base {profiles: [p]}\nservices: {a: {image: x}, b: {<<: *base, image: y}}\n';
  const { report } = importedBundle({ 'compose.yaml': text });
  expect(report.inactive_profiles).toEqual(['p']);
});
