import { parseComposeFile } from '../compose/document/composeFile.ts';
import { shownSecrets } from './shownSecrets.ts';

it.each([
  ['web: {environment: {A: $DB, B: x}}', ['web: DB']],
  ['web: {environment: [DB, "K=${KEY:-x}"]}', ['web: DB, KEY']],
  ['web: {command: [a, "--password=${DB}"], labels: {a: b}}', ['web: DB']],
  ['web: {env_file: app.env}', ['web: KEY']],
  ['web: {extends: base}, base: {environment: {A: $DB}}', ['web: DB', 'base: DB']],
  ['web: {environment: {A: $OTHER, B: $$DB}, secrets: [s]}', []],
])('in a swarm, services show: %s', (services, shown) => {
  const text = `services: {${services}}\nsecrets: {s: {environment: DB}}\nconfigs: {c: {content: $KEY}}\n`;
  const parsed = parseComposeFile('c.yaml', text);
  const sources = { files: 'file' in parsed ? [parsed.file] : [], texts: new Map([['app.env', 'A=$KEY\n']]) };
  expect(shownSecrets(sources, ['KEY', 'DB'])).toEqual(
    shown.map((each) => `service ${each}, to whoever may inspect services`),
  );
});
