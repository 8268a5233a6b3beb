import { type Releases, startReleases } from '../../fixtures/servers/releases.ts';
import { version } from '../../src/version.ts';
import { deb, openReleaseStage, type Ran, type ReleaseStage } from './stage.ts';

const tag = `v${version}`;
const names = [deb, `${deb}.sha256`, 'install.sh'];

let stage: ReleaseStage;
let host: Releases;
beforeEach(async () => {
  stage = await openReleaseStage();
  host = await startReleases(stage.certificate);
  host.upstream.add(tag);
});
afterEach(async () => {
  await host.stop();
  await stage.close();
});

async function publish({ token = host.apiToken, wait = '20' } = {}): Promise<Ran> {
  const args = ['--dir', stage.dir, '--api', host.api, '--repo', host.repo, '--wait-s', wait, '--poll-s', '0.01'];
  const ran = await stage.run('host.ts', args, { RELEASE_API_TOKEN: token });
  expect(ran.stdout + ran.stderr).not.toContain(host.apiToken);
  return ran;
}

const routes = () => host.requests.map(({ route }) => route);
const assets = () => host.releases[0]?.assets.map(({ name, bytes }) => [name, bytes.toString()]);
const files = () => [
  [deb, 'a package'],
  [`${deb}.sha256`, expect.stringContaining(deb)],
  ['install.sh', '#!/bin/sh\n'],
];

it('the tag is fetched, the release made, the files attached', async () => {
  host.lag(3);
  const ran = await publish();
  expect(ran).toMatchObject({ code: 0, stderr: '' });
  expect(ran.stdout).toBe(names.map((name) => `published: ${tag}/${name}\n`).join(''));
  const attaching = ['assets', 'attach'];
  expect(routes()).toEqual([
    'mirror-sync',
    'tag',
    'tag',
    'tag',
    'tag',
    'create',
    ...attaching,
    ...attaching,
    ...attaching,
  ]);
  expect(host.releases).toMatchObject([{ tag, name: `deployd ${tag}`, body: expect.stringMatching(/^- /) as string }]);
  expect(assets()).toEqual(files());
});

it('a release that is there is used, and its files replaced', async () => {
  await publish();
  await stage.rebuild('another package');
  expect(await publish()).toMatchObject({ code: 0 });
  expect(host.releases).toHaveLength(1);
  expect(assets()?.[0]).toEqual([deb, 'another package']);
  expect(assets()).toHaveLength(3);
});

it('files of other names stay', async () => {
  await publish();
  host.releases[0]?.assets.push({ id: 99, name: 'notes.pdf', bytes: Buffer.from('x') });
  await publish();
  expect(assets()).toContainEqual(['notes.pdf', 'x']);
});

it('there is never a moment without the file', async () => {
  await publish();
  host.answerNext('detach', { status: 500 }, 3);
  expect(await publish()).toMatchObject({ code: 1 });
  expect(assets()?.filter(([name]) => name === deb)).toHaveLength(2);
  expect(await publish()).toMatchObject({ code: 0 });
  expect(assets()).toHaveLength(3);
});

it('a repository that is no mirror has its tags without a sync', async () => {
  host.tags.add(tag);
  host.answerNext('mirror-sync', { status: 400, body: { message: 'Repository is not a mirror' } });
  expect(await publish()).toMatchObject({ code: 0 });
});

it('a mirror that never brings the tag ends it within the time given, before anything is released', async () => {
  host.lag(Infinity);
  const ran = await publish({ wait: '0.2' });
  expect(ran).toMatchObject({
    code: 1,
    stderr: `tag ${tag} did not reach ops/deployd within 0.2 s: look at its mirror settings, then run this job again`,
  });
  expect(routes()).not.toContain('create');
});

describe('a host that refuses', () => {
  it('the token is told', async () => {
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
  ] as const)('%s with %s is told', async (route, status, said) => {
    host.answerAlways(route, { status, body: { message: 'protected tag' } });
    const ran = await publish();
    expect(ran.code).toBe(1);
    expect(ran.stderr).toContain(`: ${status} (protected tag)`);
    expect(ran.stderr).toContain(said);
  });

  it('a passing fault of a question is asked once more, one of an order is told', async () => {
    host.answerNext('tag', { status: 502 });
    expect(await publish()).toMatchObject({ code: 0 });
    host.answerNext('create', { status: 502 });
    expect(await publish()).toMatchObject({ code: 1, stderr: `POST ${host.api}/repos/ops/deployd/releases: 502` });
    expect(host.releases).toHaveLength(1);
  });

  it('a host out of reach is told', async () => {
    await host.unlisten();
    const ran = await publish();
    expect(ran.stderr).toMatch(/ECONNREFUSED; run this job again when the server can be reached$/);
  });
});

describe('what is missing', () => {
  it('a token is told', async () => {
    const ran = await stage.run('host.ts', ['--api', host.api, '--repo', host.repo]);
    expect(ran).toMatchObject({ code: 1, stderr: 'no token: set RELEASE_API_TOKEN to one that may write releases' });
  });

  it('an address is told', async () => {
    const ran = await stage.run('host.ts', [], { RELEASE_API_TOKEN: 'x' });
    expect(ran).toMatchObject({ code: 1, stderr: 'name the release host: --api https://…/api/v1 --repo OWNER/REPO' });
  });
});
