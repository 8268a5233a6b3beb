import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContainers } from '../../adapters/engine/containers.ts';
import type { Creation } from '../../rules/created/created.ts';
import { setAside } from './created.ts';
import type { Tools } from '../tools.ts';

let dir: string;
let engine: Server;
let isImageThere: boolean;
let asked: string[];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'deployd-engine-'));
  engine = createServer(({ method = '', url = '' }, response) => {
    const [path = ''] = url.split('?');
    asked.push(`${method} ${path}`);
    const made = isImageThere ? 201 : 404;
    response.writeHead(path === '/containers/create' ? made : 204, { 'Content-Type': 'application/json' });
    response.end(made === 201 ? '{"Id":"holder"}' : '{"message":"No such image: sha256:1"}');
  });
  engine.listen(join(dir, 'engine.sock'));
  await once(engine, 'listening');
});
beforeEach(() => (asked = []));
afterAll(async () => {
  engine.closeAllConnections();
  engine.close();
  await rm(dir, { recursive: true });
});

const name = 'f'.repeat(64);
const web = {
  ...{ Id: 'web', Name: '/deployd-eu-1-web-1', Image: 'sha256:1' },
  ...{ State: { Status: 'exited' }, Config: { Labels: {} } },
  Mounts: [{ Type: 'volume', Name: name, Source: `/volumes/${name}`, Destination: '/data', Driver: 'local', RW: true }],
} as unknown as Creation;
const made = {
  ...{ containers: [web], isPodman: false, networks: [] },
  volumes: [{ name, driver: 'local', options: {} }],
};

function setWebAside(): Promise<void> {
  const signal = new AbortController().signal;
  const containers = createContainers({ containerHost: `unix://${dir}/engine.sock`, project: 'deployd-eu-1', signal });
  return setAside({ containers } as Tools, web, made);
}

describe('a container that alone holds data', () => {
  it('goes once another holds it', async () => {
    isImageThere = true;
    await setWebAside();
    expect(asked).toEqual(['POST /containers/create', 'DELETE /containers/web']);
  });

  it('stays where its image is gone, of which no other can be made', async () => {
    isImageThere = false;
    await expect(setWebAside()).rejects.toMatchObject({
      ending: 'failed',
      code: 'UP_FAILED',
      message:
        'UP_FAILED: container deployd-eu-1-web-1 stays, as it alone holds data of anonymous volumes: its image sha256:1 is gone',
    });
    expect(asked).toEqual(['POST /containers/create']);
  });
});
