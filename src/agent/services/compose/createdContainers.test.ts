import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { tempDir } from '../../../../fixtures/tempDir.ts';
import { createContainers } from '../../adapters/engine/containers.ts';
import type { CreatedContainer } from '../../rules/createdContainers/createdContainer.ts';
import { removeKeepingVolumes } from './createdContainers.ts';
import type { Dependencies } from '../dependencies.ts';

let dir: string;
let engine: Server;
let hasImage: boolean;
let calls: string[];
beforeAll(async () => {
  dir = tempDir();
  engine = createServer(({ method = '', url = '' }, response) => {
    const [path = ''] = url.split('?');
    calls.push(`${method} ${path}`);
    const createStatus = hasImage ? 201 : 404;
    response.writeHead(path === '/containers/create' ? createStatus : 204, { 'Content-Type': 'application/json' });
    response.end(createStatus === 201 ? '{"Id":"holder"}' : '{"message":"No such image: sha256:1"}');
  });
  engine.listen(join(dir, 'engine.sock'));
  await once(engine, 'listening');
});
beforeEach(() => (calls = []));
afterAll(async () => {
  engine.closeAllConnections();
  engine.close();
});

const name = 'f'.repeat(64);
const web = {
  ...{ Id: 'web', Name: '/deployd-eu-1-web-1', Image: 'sha256:1' },
  ...{ State: { Status: 'exited' }, Config: { Labels: {} } },
  Mounts: [{ Type: 'volume', Name: name, Source: `/volumes/${name}`, Destination: '/data', Driver: 'local', RW: true }],
} as unknown as CreatedContainer;
const created = {
  ...{ containers: [web], isPodman: false, networks: [] },
  volumes: [{ name, driver: 'local', options: {}, isOwn: false }],
};

function removeWeb(): Promise<void> {
  const signal = new AbortController().signal;
  const containers = createContainers({ containerHost: `unix://${dir}/engine.sock`, project: 'deployd-eu-1', signal });
  return removeKeepingVolumes({ containers } as Dependencies, web, created);
}

describe('a container with data in anonymous volumes', () => {
  it('is removed after a placeholder has its volumes', async () => {
    hasImage = true;
    await removeWeb();
    expect(calls).toEqual(['POST /containers/create', 'POST /containers/web/kill', 'DELETE /containers/web']);
  });

  it('stays when its image is gone, so that no placeholder can be created', async () => {
    hasImage = false;
    await expect(removeWeb()).rejects.toMatchObject({
      ending: 'failed',
      code: 'UP_FAILED',
      message:
        'UP_FAILED: container deployd-eu-1-web-1 stays, as it alone holds data of anonymous volumes: its image sha256:1 is gone',
    });
    expect(calls).toEqual(['POST /containers/create']);
  });
});
