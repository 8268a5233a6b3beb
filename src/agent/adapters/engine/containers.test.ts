import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createContainers } from './containers.ts';

/** An engine's answers by path; what else an engine tells is shown with a real one (`fixtures/e2e`). */
interface Told {
  answers: Record<string, unknown>;
  headers?: Record<string, string>;
}

let dir: string;
let engine: Server;
let told: Told;
let asked: string[];
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'deployd-engine-'));
  engine = createServer(({ url = '' }, response) => {
    const [path = ''] = url.split('?');
    asked.push(path);
    const { answers, headers } = told;
    response.writeHead(path in answers ? 200 : 404, { 'Content-Type': 'application/json', ...headers });
    response.end(JSON.stringify(answers[path] ?? { message: 'not found' }));
  });
  engine.listen(join(dir, 'engine.sock'));
  await once(engine, 'listening');
});
beforeEach(() => {
  asked = [];
  inspections = 0;
});
afterAll(async () => {
  engine.closeAllConnections();
  engine.close();
  await rm(dir, { recursive: true });
});

let inspections: number;
const containers = () =>
  createContainers({
    containerHost: `unix://${dir}/engine.sock`,
    project: 'deployd-eu-1',
    signal: new AbortController().signal,
    onInspect: () => (inspections += 1),
  });

const state = { Status: 'running', ExitCode: 0, Health: { Status: 'healthy', Log: [] } };

function inspection(service: string, State: object, restartPolicy = 'always') {
  return {
    Id: service,
    Name: `/deployd-eu-1-${service}-1`,
    Image: 'sha256:1',
    RestartCount: 0,
    State: { ...state, ...State },
    HostConfig: { RestartPolicy: { Name: restartPolicy } },
    Config: { Image: 'web:1', Labels: { 'com.docker.compose.service': service } },
    Mounts: [],
  };
}

function entry(service: string, changed: object = {}) {
  const Labels = { 'com.docker.compose.service': service };
  const Names = [`/deployd-eu-1-${service}-1`];
  return { Id: service, Names, State: 'running', Status: 'Up 3 hours (healthy)', Labels, ...changed };
}

const exited = { State: 'exited', Status: 'Exited (3) 2 hours ago' };

describe('a glance at the containers', () => {
  it('asks once, however many run, and tells them by name', async () => {
    const starting = entry('db', { Status: 'Up 2 seconds (health: starting)' });
    told = { answers: { '/containers/json': [entry('web'), starting, entry('cache', { Status: 'Up 2 weeks' })] } };
    expect(await containers().glance()).toMatchObject([
      { service: 'cache', name: 'deployd-eu-1-cache-1', state: 'running', health: null },
      { service: 'db', name: 'deployd-eu-1-db-1', state: 'running', health: 'starting' },
      { service: 'web', name: 'deployd-eu-1-web-1', state: 'running', health: 'healthy' },
    ]);
    expect(asked).toEqual(['/containers/json']);
    expect(inspections).toBe(0);
  });

  it('inspects one that does not run, for its exit code and restart policy', async () => {
    const setup = inspection('setup', { Status: 'exited', ExitCode: 3 }, 'no');
    told = { answers: { '/containers/json': [entry('setup', exited), entry('web')], '/containers/setup/json': setup } };
    expect(await containers().glance()).toMatchObject([
      { service: 'setup', state: 'exited', exitCode: 3, restartPolicy: 'no' },
      { service: 'web', state: 'running' },
    ]);
    expect(asked).toEqual(['/containers/json', '/containers/setup/json']);
    expect(inspections).toBe(1);
  });

  it('inspects one whose status it does not understand', async () => {
    const paused = entry('web', { State: 'paused', Status: 'Up 3 hours (Paused)' });
    const web = inspection('web', { Status: 'paused' });
    told = { answers: { '/containers/json': [paused], '/containers/web/json': web } };
    expect(await containers().glance()).toMatchObject([{ state: 'paused', health: 'healthy' }]);
  });

  it('leaves out one that vanishes meanwhile', async () => {
    told = { answers: { '/containers/json': [entry('setup', exited), entry('web')] } };
    expect(await containers().glance()).toMatchObject([{ service: 'web' }]);
    expect(asked).toContain('/containers/setup/json');
  });

  it('has no eye for one that `compose run` made, running or not', async () => {
    const Labels = { 'com.docker.compose.service': 'web', 'com.docker.compose.oneoff': 'True' };
    told = {
      answers: { '/containers/json': [entry('web'), entry('run', { Labels }), entry('ran', { Labels, ...exited })] },
    };
    expect(await containers().glance()).toMatchObject([{ name: 'deployd-eu-1-web-1' }]);
    expect(asked).toEqual(['/containers/json']);
  });
});

it.each(['tcp://127.0.0.1:1', 'ssh://elsewhere', 'unix:///nowhere.sock', 'tcp://:x'])(
  'asks the engine that is configured, not that of DOCKER_HOST=%s',
  async (elsewhere) => {
    process.env['DOCKER_HOST'] = elsewhere;
    told = { answers: { '/volumes': { Volumes: [] }, '/containers/json': [] } };
    expect(await containers().volumes()).toEqual([]);
    expect(await containers().list()).toEqual([]);
  },
);

it('notes that volumes may tell secrets in their options', async () => {
  told = { answers: { '/volumes': { Volumes: [] } } };
  expect(await containers().volumes()).toEqual([]);
  expect(inspections).toBe(1);
});

/** What Podman 4.3.1 was seen to answer. */
const podman: Told = {
  headers: { 'Libpod-API-Version': '4.3.1' },
  answers: {
    '/version': { Version: '4.3.1' },
    '/containers/json': [entry('web', { Status: 'Up 3 hours' })],
    '/containers/web/json': inspection('web', { Health: { Status: '', Log: null } }, ''),
  },
};

describe('a container of Podman', () => {
  it('has no health without a healthcheck', async () => {
    told = podman;
    expect(await containers().list()).toMatchObject([
      { service: 'web', state: 'running', health: null, healthLog: [], restartPolicy: 'no' },
    ]);
  });

  it('is inspected at a glance too', async () => {
    const sick = inspection('web', { Health: { Status: 'unhealthy', Log: null } });
    told = { ...podman, answers: { ...podman.answers, '/containers/web/json': sick } };
    expect(await containers().glance()).toMatchObject([{ service: 'web', health: 'unhealthy' }]);
  });

  it('keeps its log to itself, which may begin or end in the middle of a secret', async () => {
    told = podman;
    const [log] = await containers().logs('web');
    expect(log?.text).toMatch('see `podman logs`');
    expect(asked).toEqual(['/version']);
  });
});

describe('who holds on to what', () => {
  const mounts = [
    { Type: 'bind', Source: '/srv/x' },
    { Type: 'volume', Name: 'data', Source: '' },
  ];
  const networks = { Networks: { bridge: {} } };
  const holder = {
    id: 'f',
    name: 'foreign',
    project: 'other',
    image: 'app:1',
    imageId: 'sha256:1',
    mounts: ['/srv/x'],
    volumes: ['data'],
    networks: ['bridge'],
  };
  const Labels = { 'com.docker.compose.project': 'other' };
  const listed = { Id: 'f', Names: ['/web/link', '/foreign'], Image: 'app:1', ImageID: 'sha256:1', Labels };

  it('is asked once of Docker, of every container whoever made it', async () => {
    told = { answers: { '/containers/json': [{ ...listed, Mounts: mounts, NetworkSettings: networks }] } };
    expect(await containers().holders()).toEqual([holder]);
    expect([asked, inspections]).toEqual([['/containers/json'], 0]);
  });

  it('is asked of Podman one by one, whose list does not tell', async () => {
    const inspected = { Id: 'f', Name: 'foreign', Image: 'sha256:1', Config: { Image: 'app:1', Labels } };
    const found = { ...inspected, Mounts: mounts, NetworkSettings: networks };
    const answers = { '/containers/json': [listed, { ...listed, Id: 'gone' }], '/containers/f/json': found };
    told = { answers, headers: { 'libpod-api-version': '4.3.1' } };
    expect(await containers().holders()).toEqual([holder]);
  });
});
