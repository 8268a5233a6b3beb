import { existsSync, readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { startPackages } from '../../fixtures/servers/packages.ts';
import { startReleases } from '../../fixtures/servers/releases.ts';
import { version } from '../../src/version.ts';
import { openReleaseStage } from './stage.ts';

interface Job {
  stage: string;
  needs?: string[];
  rules?: { if: string; when?: string; allow_failure?: boolean }[];
  script: string[];
}

const {
  stages,
  default: common,
  variables,
  ...jobs
} = parse(readFileSync('.gitlab-ci.yml', 'utf8')) as {
  stages: string[];
  default: object;
  variables: Record<string, string>;
} & Record<string, Job>;

/** The jobs of a pipeline with these variables, and how each begins; a job without rules runs for branches and tags. */
function begun(set: Record<string, string>): Record<string, string> {
  const known: Record<string, string> = { CI_COMMIT_SHA: 'f00', ...set };
  const holds = (condition: string) => condition.split(' && ').every((name) => known[name.replace('$', '')]);
  const told = Object.entries(jobs).flatMap(([name, { rules = [{ if: '$CI_COMMIT_SHA' }] }]) => {
    const rule = rules.find((each) => holds(each.if));
    return rule ? [[name, `${rule.when ?? 'by itself'}${rule.allow_failure ? ', may wait' : ''}`]] : [];
  });
  return Object.fromEntries(told) as Record<string, string>;
}

it('has jobs in stages that are there, and needs that run before', () => {
  expect(stages).toEqual(['check', 'test', 'package', 'publish']);
  expect(common).toMatchObject({ before_script: ['sh fixtures/setup.sh'] });
  const places = Object.values(jobs).map(({ stage }) => stages.indexOf(stage));
  expect(Math.min(...places)).toBe(0);
  for (const { stage, needs = [] } of Object.values(jobs))
    for (const need of needs) expect(stages.indexOf(jobs[need]!.stage)).toBeLessThan(stages.indexOf(stage));
});

it('a branch is tested and nothing else', () => {
  expect(begun({ CI_COMMIT_BRANCH: 'main', RELEASE_API_TOKEN: 'x' })).toEqual({ test: 'by itself' });
});

const released = { version: 'by itself', test: 'by itself', package: 'by itself', 'publish-registry': 'by itself' };

it('a tag is always published to the registry, and by itself to the release host with a token', () => {
  expect(begun({ CI_COMMIT_TAG: 'v1', RELEASE_API_TOKEN: 'x' })).toEqual({
    ...released,
    'publish-release': 'by itself',
  });
});

it('without a token the release host is left to somebody, and the pipeline does not wait', () => {
  expect(begun({ CI_COMMIT_TAG: 'v1' })).toEqual({ ...released, 'publish-release': 'manual, may wait' });
});

it('nothing is published before the tag was checked and the tests passed', () => {
  for (const name of ['publish-registry', 'publish-release'])
    expect(jobs[name]?.needs).toEqual(['version', 'test', 'package']);
});

it('runs commands that are there, by the pinned Node', () => {
  const lines = Object.values(jobs).flatMap(({ script }) => script);
  const commands = lines.flatMap((line) => line.match(/deb\/release\/\w+\.ts/g) ?? []);
  expect(commands.sort()).toEqual(['host', 'registry', 'stamp', 'tag'].map((name) => `deb/release/${name}.ts`));
  expect(commands.filter((file) => !existsSync(file))).toEqual([]);
  expect(lines.filter((line) => /(^|[^/])\bnode /.test(line))).toEqual([]);
  expect(lines.filter((line) => line.includes('TOKEN'))).toEqual([]);
});

it('its publishing jobs publish', async () => {
  const stage = await openReleaseStage();
  const registry = await startPackages(stage.certificate);
  const host = await startReleases(stage.certificate);
  registry.tokens.set('job-token', 'write');
  host.upstream.add(`v${version}`);
  const env = {
    ...variables,
    PACKAGE_DIR: stage.dir,
    CI_COMMIT_TAG: `v${version}`,
    CI_API_V4_URL: registry.api,
    CI_PROJECT_ID: registry.project,
    CI_JOB_TOKEN: 'job-token',
    RELEASE_API_URL: host.api,
    RELEASE_REPO: host.repo,
    RELEASE_API_TOKEN: host.apiToken,
  };
  for (const name of ['version', 'publish-registry', 'publish-release'])
    expect(await stage.run({ line: jobs[name]!.script.join('\n') }, [], env)).toMatchObject({ code: 0, stderr: '' });
  expect(registry.uploads).toHaveLength(3);
  expect(host.releases[0]?.assets).toHaveLength(3);
  await Promise.all([registry.stop(), host.stop()]);
  await stage.close();
});
