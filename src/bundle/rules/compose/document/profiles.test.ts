import { parseComposeFile } from './composeFile.ts';
import { activeServiceLayers } from './profiles.ts';

it.each<[string, string[], string]>([
  ['without a choice those without a profile run', [], 'a e'],
  ['one of several profiles is enough, also of a base', ['q'], 'a b d e'],
  ['the profiles of all files count', ['r'], 'a b d e'],
  ['a profile of its own does not make a base run', ['t'], 'a d e'],
  ['a profile has no patterns, and case matters', ['*', 'P'], 'a e'],
])('%s', (_title, chosen, running) => {
  const texts = [
    'services: {a: {}, b: {profiles: [p, ~, q]}, c: {profiles: [s]}, d: {extends: b, profiles: [t]}, e: {profiles: []}}',
    'services: {b: {profiles: [r]}, d: {profiles: [r]}}',
  ];
  const files = texts.flatMap((text) => {
    const parsed = parseComposeFile('compose.yaml', text);
    return 'file' in parsed ? [parsed.file] : [];
  });
  expect([...activeServiceLayers(files, chosen).keys()].join(' ')).toBe(running);
});
