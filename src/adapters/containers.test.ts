import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContainers } from './containers.ts';

/** What Podman 4.3.1 was seen to answer; whatever else an engine tells is shown with a real one (`fixtures/e2e`). */
const inspected = {
  Id: 'c1',
  Name: '/deployd-eu-1-web-1',
  Image: 'sha256:1',
  RestartCount: 0,
  State: { Status: 'running', ExitCode: 0, Health: { Status: '', Log: null } },
  HostConfig: { RestartPolicy: { Name: '' } },
  Config: { Image: 'web:1', Labels: { 'com.docker.compose.service': 'web' } },
  Mounts: [],
};
const answers: Record<string, object> = {
  '/version': { Version: '4.3.1', Components: [{ Name: 'Podman Engine', Version: '4.3.1' }] },
  '/containers/json': [{ Id: 'c1' }],
  '/containers/c1/json': inspected,
};

let dir: string;
let podman: Server;
const asked: string[] = [];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'deployd-podman-'));
  podman = createServer(({ url = '' }, response) => {
    const [path = ''] = url.replace(/^\/v[\d.]+/, '').split('?');
    asked.push(path);
    response.writeHead(path in answers ? 200 : 404, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(answers[path] ?? { message: 'not found' }));
  });
  podman.listen(join(dir, 'engine.sock'));
  await once(podman, 'listening');
});
afterAll(async () => {
  podman.closeAllConnections();
  podman.close();
  await rm(dir, { recursive: true });
});

const containers = () => createContainers(`unix://${dir}/engine.sock`, 'deployd-eu-1', new AbortController().signal);

describe('a container of Podman', () => {
  it('has no health without a healthcheck', async () => {
    expect(await containers().list()).toMatchObject([
      { service: 'web', state: 'running', health: null, healthLog: [] },
    ]);
  });

  it('keeps its log to itself, which may begin or end in the middle of a secret', async () => {
    asked.length = 0;
    const [log] = await containers().logs('c1');
    expect(log?.text).toMatch('see `podman logs`');
    expect(asked).toEqual(['/version']);
  });
});
