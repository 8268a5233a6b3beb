import { type ReleaseHost, startReleaseHost } from '../../fixtures/world/servers/registry/releaseHost.ts';
import { version } from '../../src/core/commandLine.ts';
import {
  type CommandResult,
  debName,
  openReleaseWorkspace,
  releaseNames as names,
  type ReleaseWorkspace,
} from './workspace.ts';

const tag = `v${version}`;

let workspace: ReleaseWorkspace;
let host: ReleaseHost;
beforeEach(async () => {
  workspace = await openReleaseWorkspace();
  host = await startReleaseHost(workspace.certificate);
  host.upstream.add(tag);
});
afterEach(async () => {
  await host.stop();
  await workspace.close();
});

async function publish({ token = host.apiToken, wait = '20' } = {}): Promise<CommandResult> {
  const args = ['--dir', workspace.dir, '--api', host.api, '--repo', host.repo, '--wait-s', wait, '--poll-s', '0.01'];
  const result = await workspace.run('host.ts', args, { RELEASE_API_TOKEN: token });
  expect(result.stdout + result.stderr).not.toContain(host.apiToken);
  return result;
}

const routes = () => host.requests.map(({ route }) => route);
const assets = () => host.releases[0]?.assets.map(({ name, bytes }) => [name, bytes.toString()]);
const files = (): [string, unknown][] =>
  names.map((name) => {
    if (name === 'install.sh') return [name, '#!/bin/sh\n'];
    return [name, name.endsWith('.sha256') ? expect.stringContaining(name.slice(0, -7)) : 'a package'];
  });

it('the tag is synced, the release created, the files attached', async () => {
  host.delayTag(3);
  const result = await publish();
  expect(result).toMatchObject({ code: 0, stderr: '' });
  expect(result.stdout).toBe(names.map((name) => `published: ${tag}/${name}\n`).join(''));
  const attaching = names.flatMap(() => ['assets', 'attach']);
  expect(routes()).toEqual(['mirror-sync', 'tag', 'tag', 'tag', 'tag', 'create', ...attaching]);
  expect(host.releases).toMatchObject([{ tag, name: `deployd ${tag}`, body: expect.stringMatching(/^- /) as string }]);
  expect(assets()).toEqual(files());
});

it('an existing release is reused, and its files replaced', async () => {
  await publish();
  await workspace.rebuild('another package');
  expect(await publish()).toMatchObject({ code: 0 });
  expect(host.releases).toHaveLength(1);
  expect(assets()?.[0]).toEqual([debName, 'another package']);
  expect(assets()).toHaveLength(names.length);
});

it('files of other names are kept', async () => {
  await publish();
  host.releases[0]?.assets.push({ id: 99, name: 'notes.pdf', bytes: Buffer.from('x') });
  await publish();
  expect(assets()).toContainEqual(['notes.pdf', 'x']);
});

it('a file is never missing while it is replaced', async () => {
  await publish();
  host.answerNext('detach', { status: 500 }, 3);
  expect(await publish()).toMatchObject({ code: 1 });
  expect(assets()?.filter(([name]) => name === debName)).toHaveLength(2);
  expect(await publish()).toMatchObject({ code: 0 });
  expect(assets()).toHaveLength(names.length);
});

it('a repository that is not a mirror needs no sync', async () => {
  host.tags.add(tag);
  host.answerNext('mirror-sync', { status: 400, body: { message: 'Repository is not a mirror' } });
  expect(await publish()).toMatchObject({ code: 0 });
});

it('a tag that never reaches the mirror is an error after the time limit, and nothing is released', async () => {
  host.delayTag(Infinity);
  const result = await publish({ wait: '0.2' });
  expect(result).toMatchObject({
    code: 1,
    stderr: `tag ${tag} did not reach ops/deployd within 0.2 s: look at its mirror settings, then run this job again`,
  });
  expect(routes()).not.toContain('create');
});

describe('an error of the host', () => {
  it('about the token is reported', async () => {
    expect(await publish({ token: 'wrong' })).toMatchObject({
      code: 1,
      stderr: `POST ${host.api}/repos/ops/deployd/mirror-sync: 401 (token is required): the API token is missing, wrong or revoked`,
    });
  });

  it.each([
    ['mirror-sync', 403, 'the API token may not write to this repository'],
    ['mirror-sync', 404, 'there is no such repository, or the API token does not see it'],
    ['tag', 403, 'the API token may not write to this repository'],
    ['create', 422, 'protected tag'],
    ['assets', 404, 'there is no such repository, or the API token does not see it'],
    ['attach', 413, 'the host takes no file of this size'],
    ['attach', 409, 'protected tag'],
  ] as const)('%s with %s is reported', async (route, status, hint) => {
    host.answerAlways(route, { status, body: { message: 'protected tag' } });
    const result = await publish();
    expect(result.code).toBe(1);
    expect(result.stderr).toContain(`: ${status} (protected tag)`);
    expect(result.stderr).toContain(hint);
  });

  it('that is temporary is retried for GET, and reported for POST', async () => {
    host.answerNext('tag', { status: 502 });
    expect(await publish()).toMatchObject({ code: 0 });
    host.answerNext('create', { status: 502 });
    expect(await publish()).toMatchObject({ code: 1, stderr: `POST ${host.api}/repos/ops/deployd/releases: 502` });
    expect(host.releases).toHaveLength(1);
  });

  it('of the connection is reported', async () => {
    await host.stopListening();
    const result = await publish();
    expect(result.stderr).toMatch(/ECONNREFUSED; run this job again when the server can be reached$/);
  });
});

describe('a missing argument', () => {
  it('for the token is reported', async () => {
    const result = await workspace.run('host.ts', ['--api', host.api, '--repo', host.repo]);
    expect(result).toMatchObject({ code: 1, stderr: 'no token: set RELEASE_API_TOKEN to one that may write releases' });
  });

  it('for the address is reported', async () => {
    const result = await workspace.run('host.ts', [], { RELEASE_API_TOKEN: 'x' });
    expect(result).toMatchObject({
      code: 1,
      stderr: 'name the release host: --api https://…/api/v1 --repo OWNER/REPO',
    });
  });
});
