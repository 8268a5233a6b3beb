import { endOfArchive, tarEntry } from '../../../fixtures/world/bundles/tarBlocks.ts';
import { EngineClient } from '../../../fixtures/world/engine/engineClient.ts';
import { sharedEngine } from '../../../fixtures/world/harness.ts';
import { createContainers } from './containers.ts';

describe('the users of an image', () => {
  const { socket } = sharedEngine();
  const engine = new EngineClient(socket);
  const { imageAccounts } = createContainers({
    containerHost: socket,
    project: 'p',
    signal: new AbortController().signal,
  });
  const containersNow = async () => (await engine.call('GET', '/containers/json?all=true')).body;
  const importImage = (name: string, ...entries: Buffer[]) =>
    engine.call('POST', `/images/create?fromSrc=-&repo=${name}`, { body: Buffer.concat([...entries, endOfArchive]) });
  afterAll(async () => {
    for (const name of ['with-users', 'with-link', 'bare']) await engine.call('DELETE', `/images/${name}`);
  });

  it.each([
    [
      'with-users',
      [
        tarEntry('etc/passwd', 'root:x:0:0::/:/bin/sh\napp:x:7:7::/:/bin/sh\n'),
        tarEntry('etc/group', 'root:x:0:\nstaff:x:8:app\n'),
      ],
      { users: new Set(['root', 'app', '']), groups: new Set(['root', 'staff', '']) },
    ],
    ['with-link', [tarEntry('etc/passwd', '', { type: '2', link: '/usr/passwd' })], null],
    ['bare', [tarEntry('file', 'x')], { users: new Set(), groups: new Set() }],
  ])('%s are read without a trace', async (name, entries, expected) => {
    expect(await importImage(name, ...entries)).toMatchObject({ status: 200 });
    const before = await containersNow();
    expect(await imageAccounts(name)).toEqual(expected);
    expect(await containersNow()).toEqual(before);
  });

  it('are unknown for a missing image', async () => {
    expect(await imageAccounts('none-such:1')).toBeNull();
  });
});
