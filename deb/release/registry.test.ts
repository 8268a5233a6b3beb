import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type PackageRegistry,
  startObjectStorage,
  startPackageRegistry,
} from '../../fixtures/world/servers/registry/packageRegistry.ts';
import { version } from '../../src/core/commandLine.ts';
import {
  type CommandResult,
  debName,
  openReleaseWorkspace,
  releaseNames as names,
  type ReleaseWorkspace,
} from './workspace.ts';

const token = 'glcbt-64_job-token-of-the-fixture';

let workspace: ReleaseWorkspace;
let registry: PackageRegistry;
beforeEach(async () => {
  workspace = await openReleaseWorkspace();
  registry = await startPackageRegistry(workspace.certificate);
  registry.tokens.set(token, 'write');
});
afterEach(async () => {
  await registry.stop();
  await workspace.close();
});

async function publish(env: Record<string, string> = { CI_JOB_TOKEN: token }): Promise<CommandResult> {
  const pipeline = { CI_API_V4_URL: registry.api, CI_PROJECT_ID: registry.project };
  const result = await workspace.run('registry.ts', ['--dir', workspace.dir], { ...pipeline, ...env });
  expect(result.stdout + result.stderr).not.toContain(token);
  return result;
}

const contents = () => names.map((name) => registry.files.get(`deployd/${version}/${name}`)?.toString());

it('packages, deployctl in one file, their digests and the installer are published one after the other', async () => {
  const result = await publish();
  expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(result.stdout.split('\n').filter(Boolean)).toEqual(
    names.map((name) => `published: ${registry.base}/${version}/${name}`),
  );
  expect(registry.uploads).toEqual(names);
  expect(names.map((name) => name.replace(version, 'VERSION'))).toEqual([
    'deployd_VERSION_amd64.deb',
    'deployd_VERSION_amd64.deb.sha256',
    'deployd_VERSION_arm64.deb',
    'deployd_VERSION_arm64.deb.sha256',
    'deployd-tenancy_VERSION_amd64.deb',
    'deployd-tenancy_VERSION_amd64.deb.sha256',
    'deployd-tenancy_VERSION_arm64.deb',
    'deployd-tenancy_VERSION_arm64.deb.sha256',
    'deployctl_VERSION_amd64.deb',
    'deployctl_VERSION_amd64.deb.sha256',
    'deployctl_VERSION_arm64.deb',
    'deployctl_VERSION_arm64.deb.sha256',
    'deployd-VERSION.x86_64.rpm',
    'deployd-VERSION.x86_64.rpm.sha256',
    'deployd-VERSION.aarch64.rpm',
    'deployd-VERSION.aarch64.rpm.sha256',
    'deployctl.cjs',
    'deployctl.cjs.sha256',
    'install.sh',
  ]);
  expect(contents().slice(0, 2)).toEqual(['a package', expect.stringContaining(debName)]);
  expect(contents().at(-1)).toBe('#!/bin/sh\n');
});

it('a pipeline job uses its job token, other callers a deploy token', async () => {
  await publish();
  expect(registry.requests.every(({ headers }) => headers['job-token'] === token)).toBe(true);
  expect(await publish({ DEPLOY_TOKEN: token })).toMatchObject({ code: 0 });
  expect(registry.requests.at(-1)?.headers['deploy-token']).toBe(token);
});

it('publishing again changes nothing', async () => {
  await publish();
  const result = await publish();
  expect(result.stdout.match(/is there already/g)).toHaveLength(names.length);
  expect(registry.uploads).toHaveLength(names.length);
});

it('an interrupted publication is completed', async () => {
  registry.answerNext('upload', {});
  registry.answerNext('upload', { status: 403 });
  expect(await publish()).toMatchObject({ code: 1 });
  expect(await publish()).toMatchObject({ code: 0 });
  expect(registry.uploads).toEqual(names);
});

it('a published version keeps its content', async () => {
  await publish();
  await workspace.rebuild('another package');
  const result = await publish();
  expect(result).toMatchObject({ code: 1 });
  expect(result.stderr).toBe(
    `${registry.base}/${version}/${debName} is published already with other content: raise the version, for hosts may have it`,
  );
  expect(contents()[0]).toBe('a package');
});

it('the object storage behind the registry receives no token', async () => {
  await publish();
  const storage = await startObjectStorage(workspace.certificate, registry);
  registry.redirectTo(storage.url);
  expect(await publish()).toMatchObject({ code: 0 });
  expect(storage.requests).toHaveLength(names.length);
  expect(storage.requests.filter(({ headers }) => headers['job-token'] !== undefined)).toEqual([]);
  await storage.stop();
});

it('an unreachable storage is reported without the signature in its URL', async () => {
  await publish();
  const storage = await startObjectStorage(workspace.certificate, registry);
  await storage.stop();
  registry.redirectTo(`${storage.url}/signed?signature=x`);
  const result = await publish();
  expect(result.code).toBe(1);
  expect(result.stderr).toContain('ECONNREFUSED');
  expect(result.stderr).not.toContain('signature');
});

describe('an error of the registry', () => {
  it.each([
    ['wrong', 401, ' (401 Unauthorized): the token is missing, wrong or revoked'],
    ['read', 403, ' (403 Forbidden): the token may not write packages (scope write_package_registry)'],
    ['elsewhere', 404, ' (404 Project Not Found): there is no such project, or the token is of another'],
  ] as const)('for a token with the right %s is reported (%s)', async (right, status, message) => {
    if (right === 'wrong') registry.tokens.clear();
    else registry.tokens.set(token, right);
    const result = await publish();
    expect(result.code).toBe(1);
    const method = right === 'wrong' ? 'GET' : 'PUT';
    expect(result.stderr).toBe(`${method} ${registry.base}/${version}/${debName}: ${status}${message}`);
    expect(registry.files.size).toBe(0);
  });

  it('for a duplicate that was uploaded concurrently is reported', async () => {
    registry.forbidDuplicates();
    registry.answerNext('download', { status: 404 });
    registry.files.set(`deployd/${version}/${debName}`, Buffer.from('a package'));
    const result = await publish();
    expect(result.stderr).toContain('400 (400 Bad request - Duplicate package is not allowed)');
    expect(await publish()).toMatchObject({ code: 0 });
  });

  it('that is temporary is retried', async () => {
    registry.answerNext('upload', { status: 503 });
    expect(await publish()).toMatchObject({ code: 0 });
    expect(registry.uploads).toEqual(names);
  });

  it('that persists is reported', async () => {
    registry.answerAlways('upload', { status: 500, body: { message: '500 Internal Server Error' } });
    const result = await publish();
    expect(result).toMatchObject({
      code: 1,
      stderr: `PUT ${registry.base}/${version}/${debName}: 500 (500 Internal Server Error)`,
    });
  });

  it('of the connection is reported', async () => {
    await registry.stopListening();
    const result = await publish();
    expect(result).toMatchObject({
      code: 1,
      stderr: `GET ${registry.base}/${version}/${debName}: ECONNREFUSED; run this job again when the server can be reached`,
    });
  });
});

describe('a missing argument', () => {
  it('for the token is reported', async () => {
    expect(await publish({})).toMatchObject({
      code: 1,
      stderr: 'no token: set DEPLOY_TOKEN to one with the scope write_package_registry',
    });
  });

  it('for the address is reported', async () => {
    expect(await workspace.run('registry.ts', [], { CI_JOB_TOKEN: token })).toMatchObject({
      code: 1,
      stderr: 'outside a pipeline name the registry: --api https://…/api/v4 --project ID',
    });
  });

  it('for the package is reported, and so is a wrong checksum', async () => {
    await workspace.rebuild('x');
    await writeFile(join(workspace.dir, debName), 'y');
    expect(await publish()).toMatchObject({
      code: 1,
      stderr: `${debName}.sha256 is not the checksum of ${debName}: build the package again`,
    });
    expect(registry.requests).toEqual([]);
    const nowhere = await workspace.run('registry.ts', ['--api', registry.api, '--project', '42', '--dir', '/nowhere']);
    expect(nowhere.stderr).toMatch(/^\/nowhere\/.* cannot be read: build the package first \(npm run package\)$/);
  });
});
