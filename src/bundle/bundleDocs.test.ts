import { readFileSync } from 'node:fs';
import { refusalCodes } from '../../machines/refusals.ts';
import type { Manifest } from '../../machines/types.ts';
import { parseManifest } from '../api/manifest.rules.ts';
import { manifestSchema } from '../api/manifestValidator.ts';
import { parseComposeFile } from './compose/composeFile.rules.ts';
import { maxCharacters, maxNodes } from './compose/composeNode.rules.ts';
import { maxVariablesPerLine } from './compose/variables.rules.ts';
import { planOf } from './plan/plan.rules.ts';
import { unresolvedVariables } from './plan/variables.rules.ts';
import { composeLimits } from './policy/limits.rules.ts';
import { anyHost } from './policy/policyHost.rules.ts';
import { mergedFilesOf } from './compose/services.rules.ts';
import { composeProjectOf } from './compose/composeProject.rules.ts';

/** The statements for bundle authors, compared with the agent. */
const format = pageOf('bundle.md');
const limits = pageOf('bundle-limits.md');
const manifest = example();
const composeText = fenced('yaml');

it('shows a bundle that passes validation', () => {
  expect(codesOf(composeText)).toEqual([]);
});

it('lists exactly the keys of the manifest', () => {
  const { secrets, registries, agent } = manifestSchema.properties;
  const below = [
    ...Object.keys(secrets.items.properties).map((key) => `secrets[].${key}`),
    ...Object.keys(registries.items.properties).map((key) => `registries[].${key}`),
    ...Object.keys(agent.properties).map((key) => `agent.${key}`),
  ];
  const top = Object.keys(manifestSchema.properties).filter((key) => key !== 'agent');
  const documented = rowsOf(format, '## manifest.json').flatMap(([key = '']) =>
    [...key.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  );
  expect(documented.toSorted()).toEqual([...top, ...below].toSorted());
});

it.each(rowsOf(format, '### Which variables must have a value').map(codedCells))(
  'states correctly whether %s must be set: %s',
  (written, must) => {
    const missing = unresolvedVariables(
      { project: mergedFilesOf([fileOf(`services: {web: {user: "${written}"}}`)]), texts: new Map() },
      new Set(),
    );
    expect(missing).toEqual(must === 'yes' ? ['V'] : []);
  },
);

/** The names in the lines of a service. */
const ofProject = 'networks: {n: }\nvolumes: {data: , logs: , vv: }\n';

describe.each([
  [
    'a service',
    '## What a service may not say',
    (line: string) => `services:\n  db: {}\n  web:\n    ${line}\n${ofProject}`,
  ],
  ['a file', '## What a file may not say', (line: string) => `services: {web: {}}\n${line}\n`],
])('forbidden keys of %s', (_title, heading, around) => {
  it.each(rowsOf(limits, heading).map(codedCells))('%s is %s', (written, code, _why, instead) => {
    expect(codesOf(around(written))).toEqual([code]);
    expect(codesOf(around(instead))).toEqual([]);
  });
});

it('lists every limit', () => {
  const documented = rowsOf(limits, '## Bounds').map(([, bound = '']) => Number(bound.replaceAll(' ', '')));
  expect(new Set(documented)).toEqual(
    new Set([maxCharacters, maxNodes, maxVariablesPerLine, ...Object.values(composeLimits)]),
  );
});

it('has a fix for every refusal', () => {
  const documented = rowsOf(format, '## Refusals and how to fix them').flatMap(
    ([codes = '']) => codes.match(/[A-Z_]+/g) ?? [],
  );
  expect(documented).toEqual([...refusalCodes]);
});

function pageOf(name: string): string {
  return readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
}

function codesOf(text: string): string[] {
  const parsed = parseComposeFile('compose.yaml', text);
  const unknown = 'not asked';
  const { refusals } = planOf(
    {
      sha: null,
      version: '1',
      variables: manifest.variables,
      manifest,
      project: composeProjectOf('file' in parsed ? [parsed.file] : [fileOf('services: {web: {}}')], manifest.profiles),
      refusals:
        'problems' in parsed
          ? [{ code: 'COMPOSE_REFUSED', detail: parsed.problems.map(({ text }) => text).join('; ') }]
          : [],
      releaseFiles: new Set(['compose.yaml', 'app.env', 'conf', 'conf/web.conf']),
      texts: new Map([['app.env', 'A=1\n']]),
      digests: new Map(),
    },
    { policyHost: anyHost, newest: { unknown }, applied: { unknown }, engine: { unknown } },
  );
  return refusals.map(({ code }) => code).filter((code) => code !== 'ENV_INCOMPLETE' || text === composeText);
}

function fileOf(text: string) {
  const parsed = parseComposeFile('compose.yaml', text);
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ text }) => text).join('\n'));
  return parsed.file;
}

function example(): Manifest {
  const parsed = parseManifest(fenced('json'), 'eu-1');
  if ('refusal' in parsed) throw new Error(parsed.refusal.detail);
  return parsed.manifest;
}

function fenced(language: string): string {
  return new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(format)?.[1] ?? '';
}

/** The rows of the first table below a heading, cell by cell. */
function rowsOf(page: string, heading: string): string[][] {
  const below = page.slice(page.indexOf(`${heading}\n`) + heading.length);
  const [table = ''] = /(^\|.*\n)+/m.exec(below) ?? [];
  return table
    .trimEnd()
    .split('\n')
    .slice(2)
    .map((row) =>
      row
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

function codedCells(cells: string[]): string[] {
  return cells.map((cell) => /^`(.*)`$/.exec(cell)?.[1] ?? cell);
}
