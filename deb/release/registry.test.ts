import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Packages, startPackages, startStorage } from '../../fixtures/servers/packages.ts';
import { version } from '../../src/version.ts';
import { deb, openReleaseStage, type Ran, type ReleaseStage } from './stage.ts';

const token = 'glcbt-64_job-token-of-the-fixture';
const names = [deb, `${deb}.sha256`, 'install.sh'];

let stage: ReleaseStage;
let registry: Packages;
beforeEach(async () => {
  stage = await openReleaseStage();
  registry = await startPackages(stage.certificate);
  registry.tokens.set(token, 'write');
});
afterEach(async () => {
  await registry.stop();
  await stage.close();
});

async function publish(env: Record<string, string> = { CI_JOB_TOKEN: token }): Promise<Ran> {
  const pipeline = { CI_API_V4_URL: registry.api, CI_PROJECT_ID: registry.project };
  const ran = await stage.run('registry.ts', ['--dir', stage.dir], { ...pipeline, ...env });
  expect(ran.stdout + ran.stderr).not.toContain(token);
  return ran;
}

const contents = () => names.map((name) => registry.files.get(`deployd/${version}/${name}`)?.toString());

it('the three files are published, one after the other', async () => {
  const ran = await publish();
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout.split('\n').filter(Boolean)).toEqual(
    names.map((name) => `published: ${registry.base}/${version}/${name}`),
  );
  expect(registry.uploads).toEqual(names);
  expect(contents()).toEqual(['a package', expect.stringContaining(deb), '#!/bin/sh\n']);
});

it('a job in the pipeline uses its job token, anybody else a deploy token', async () => {
  await publish();
  expect(registry.requests.every(({ headers }) => headers['job-token'] === token)).toBe(true);
  expect(await publish({ DEPLOY_TOKEN: token })).toMatchObject({ code: 0 });
  expect(registry.requests.at(-1)?.headers['deploy-token']).toBe(token);
});

it('publishing again changes nothing', async () => {
  await publish();
  const ran = await publish();
  expect(ran.stdout.match(/is there already/g)).toHaveLength(3);
  expect(registry.uploads).toHaveLength(3);
});

it('what was begun is completed', async () => {
  registry.answerNext('upload', {});
  registry.answerNext('upload', { status: 403 });
  expect(await publish()).toMatchObject({ code: 1 });
  expect(await publish()).toMatchObject({ code: 0 });
  expect(registry.uploads).toEqual(names);
});

it('a version that hosts may have keeps its content', async () => {
  await publish();
  await stage.rebuild('another package');
  const ran = await publish();
  expect(ran).toMatchObject({ code: 1 });
  expect(ran.stderr).toBe(
    `${registry.base}/${version}/${deb} is published already with other content: raise the version, for hosts may have it`,
  );
  expect(contents()[0]).toBe('a package');
});

it('the storage behind the registry sees no token', async () => {
  await publish();
  const storage = await startStorage(stage.certificate, registry);
  registry.redirectTo(storage.url);
  expect(await publish()).toMatchObject({ code: 0 });
  expect(storage.requests).toHaveLength(3);
  expect(storage.requests.filter(({ headers }) => headers['job-token'] !== undefined)).toEqual([]);
  await storage.stop();
});

it('a storage that cannot be reached is told without what signs its address', async () => {
  await publish();
  const storage = await startStorage(stage.certificate, registry);
  await storage.stop();
  registry.redirectTo(`${storage.url}/signed?signature=x`);
  const ran = await publish();
  expect(ran.code).toBe(1);
  expect(ran.stderr).toContain('ECONNREFUSED');
  expect(ran.stderr).not.toContain('signature');
});

describe('a registry that refuses', () => {
  it.each([
    ['wrong', 401, ' (401 Unauthorized): the token is missing, wrong or revoked'],
    ['read', 403, ' (403 Forbidden): the token may not write packages (scope write_package_registry)'],
    ['elsewhere', 404, ' (404 Project Not Found): there is no such project, or the token is of another'],
  ] as const)('a token that is %s is told (%s)', async (right, status, said) => {
    if (right === 'wrong') registry.tokens.clear();
    else registry.tokens.set(token, right);
    const ran = await publish();
    expect(ran.code).toBe(1);
    const method = right === 'wrong' ? 'GET' : 'PUT';
    expect(ran.stderr).toBe(`${method} ${registry.base}/${version}/${deb}: ${status}${said}`);
    expect(registry.files.size).toBe(0);
  });

  it('a duplicate that came in meanwhile is told', async () => {
    registry.forbidDuplicates();
    registry.answerNext('download', { status: 404 });
    registry.files.set(`deployd/${version}/${deb}`, Buffer.from('a package'));
    const ran = await publish();
    expect(ran.stderr).toContain('400 (400 Bad request - Duplicate package is not allowed)');
    expect(await publish()).toMatchObject({ code: 0 });
  });

  it('a passing fault is asked once more', async () => {
    registry.answerNext('upload', { status: 503 });
    expect(await publish()).toMatchObject({ code: 0 });
    expect(registry.uploads).toEqual(names);
  });

  it('a lasting fault is told', async () => {
    registry.answerAlways('upload', { status: 500, body: { message: '500 Internal Server Error' } });
    const ran = await publish();
    expect(ran).toMatchObject({
      code: 1,
      stderr: `PUT ${registry.base}/${version}/${deb}: 500 (500 Internal Server Error)`,
    });
  });

  it('a registry out of reach is told', async () => {
    await registry.unlisten();
    const ran = await publish();
    expect(ran).toMatchObject({
      code: 1,
      stderr: `GET ${registry.base}/${version}/${deb}: ECONNREFUSED; run this job again when the server can be reached`,
    });
  });
});

describe('what is missing', () => {
  it('a token is told', async () => {
    expect(await publish({})).toMatchObject({
      code: 1,
      stderr: 'no token: set DEPLOY_TOKEN to one with the scope write_package_registry',
    });
  });

  it('an address is told', async () => {
    expect(await stage.run('registry.ts', [], { CI_JOB_TOKEN: token })).toMatchObject({
      code: 1,
      stderr: 'outside a pipeline name the registry: --api https://…/api/v4 --project ID',
    });
  });

  it('a package is told', async () => {
    await stage.rebuild('x');
    await writeFile(join(stage.dir, deb), 'y');
    expect(await publish()).toMatchObject({
      code: 1,
      stderr: `${deb}.sha256 is not the checksum of ${deb}: build the package anew`,
    });
    expect(registry.requests).toEqual([]);
    const nowhere = await stage.run('registry.ts', ['--api', registry.api, '--project', '42', '--dir', '/nowhere']);
    expect(nowhere.stderr).toMatch(/^\/nowhere\/.* cannot be read: build the package first \(npm run package\)$/);
  });
});
