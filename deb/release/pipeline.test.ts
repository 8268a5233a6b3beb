import { existsSync, readFileSync } from 'node:fs';
import { matchesGlob } from 'node:path';
import { parse } from 'yaml';
import { startPackageRegistry } from '../../fixtures/world/servers/registry/packageRegistry.ts';
import { startReleaseHost } from '../../fixtures/world/servers/registry/releaseHost.ts';
import manifest from '../../package.json' with { type: 'json' };
import { version } from '../../src/core/commandLine.ts';
import { openReleaseWorkspace, releaseNames } from './workspace.ts';

interface Job {
  stage: string;
  needs?: string[];
  rules?: { if: string; when?: string; allow_failure?: boolean }[];
  script: string[];
  artifacts?: { paths: string[] };
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

/** The jobs of a pipeline with these variables, and how each is started; a job without rules runs for branches and tags. */
function startedJobs(set: Record<string, string>): Record<string, string> {
  const known: Record<string, string> = { CI_COMMIT_SHA: 'f00', ...set };
  const holds = (condition: string) => condition.split(' && ').every((name) => known[name.replace('$', '')]);
  const started = Object.entries(jobs).flatMap(([name, { rules = [{ if: '$CI_COMMIT_SHA' }] }]) => {
    const rule = rules.find((each) => holds(each.if));
    return rule ? [[name, `${rule.when ?? 'automatic'}${rule.allow_failure ? ', optional' : ''}`]] : [];
  });
  return Object.fromEntries(started) as Record<string, string>;
}

it('has jobs in existing stages, whose needs run earlier', () => {
  expect(stages).toEqual(['check', 'test', 'package', 'publish']);
  expect(common).toMatchObject({ before_script: ['sh fixtures/setup.sh'] });
  const stageIndexes = Object.values(jobs).map(({ stage }) => stages.indexOf(stage));
  expect(Math.min(...stageIndexes)).toBe(0);
  for (const { stage, needs = [] } of Object.values(jobs))
    for (const need of needs) expect(stages.indexOf(jobs[need]!.stage)).toBeLessThan(stages.indexOf(stage));
});

it('a branch is only tested', () => {
  expect(startedJobs({ CI_COMMIT_BRANCH: 'main', RELEASE_API_TOKEN: 'x' })).toEqual({ test: 'automatic' });
});

const released = { version: 'automatic', test: 'automatic', package: 'automatic', 'publish-registry': 'automatic' };

it('a tag is published to the registry, and to the release host if there is a token', () => {
  expect(startedJobs({ CI_COMMIT_TAG: 'v1', RELEASE_API_TOKEN: 'x' })).toEqual({
    ...released,
    'publish-release': 'automatic',
  });
});

it('without a token publishing to the release host is manual, and the pipeline does not wait for it', () => {
  expect(startedJobs({ CI_COMMIT_TAG: 'v1' })).toEqual({ ...released, 'publish-release': 'manual, optional' });
});

it('a tag is published to the repository if it is named, one pipeline at a time', () => {
  expect(startedJobs({ CI_COMMIT_TAG: 'v1', REPOSITORY_DIR: '/srv/www/deployd' })).toMatchObject({
    'publish-repository': 'automatic',
  });
  expect(jobs['publish-repository']).toMatchObject({
    tags: ['$REPOSITORY_RUNNER'],
    resource_group: 'repository',
    environment: 'packages',
  });
});

it('publishing needs the tag check and the tests', () => {
  for (const name of ['publish-registry', 'publish-release', 'publish-repository'])
    expect(jobs[name]?.needs).toEqual(['version', 'test', 'package']);
});

it('runs existing commands with the pinned Node', () => {
  const lines = Object.values(jobs).flatMap(({ script }) => script);
  const commands = lines.flatMap((line) => line.match(/deb\/release\/\w+\.ts/g) ?? []);
  expect(commands.sort()).toEqual(
    ['host', 'registry', 'repository', 'stamp', 'tag'].map((name) => `deb/release/${name}.ts`),
  );
  expect(commands.filter((file) => !existsSync(file))).toEqual([]);
  expect(lines.filter((line) => /(^|[^/])\bnode /.test(line))).toEqual([]);
  expect(lines.filter((line) => line.includes('TOKEN'))).toEqual([]);
});

it('the package job hands over every file that is published', () => {
  const paths = jobs['package']?.artifacts?.paths ?? [];
  const handedOver = (name: string) => paths.some((path) => matchesGlob(`$PACKAGE_DIR/${name}`, path));
  expect(releaseNames.filter((name) => !handedOver(name))).toEqual([]);
});

it('all packages are built into the directory that is published', async () => {
  const workspace = await openReleaseWorkspace();
  const line = `node() { echo "$*"; }; ${manifest.scripts.package} --output elsewhere`;
  expect((await workspace.run({ line }, [])).stdout.trim().split('\n')).toEqual([
    'deb/package.ts --output elsewhere',
    'deb/plainPackages.ts --output elsewhere',
  ]);
  await workspace.close();
});

it('the publishing jobs publish', async () => {
  const workspace = await openReleaseWorkspace();
  const registry = await startPackageRegistry(workspace.certificate);
  const host = await startReleaseHost(workspace.certificate);
  registry.tokens.set('job-token', 'write');
  host.upstream.add(`v${version}`);
  const env = {
    ...variables,
    PACKAGE_DIR: workspace.dir,
    CI_COMMIT_TAG: `v${version}`,
    CI_API_V4_URL: registry.api,
    CI_PROJECT_ID: registry.project,
    CI_JOB_TOKEN: 'job-token',
    RELEASE_API_URL: host.api,
    RELEASE_REPO: host.repo,
    RELEASE_API_TOKEN: host.apiToken,
  };
  for (const name of ['version', 'publish-registry', 'publish-release'])
    expect(await workspace.run({ line: jobs[name]!.script.join('\n') }, [], env)).toMatchObject({
      code: 0,
      stderr: '',
    });
  expect(registry.uploads).toEqual(releaseNames);
  expect(host.releases[0]?.assets.map(({ name }) => name)).toEqual(releaseNames);
  await Promise.all([registry.stop(), host.stop()]);
  await workspace.close();
});
