import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { createContainers } from './containers.ts';

/** Responses by path; other behaviour is tested with a real engine (`fixtures/suites/e2e`). */
interface EngineStub {
  responses: Record<string, unknown>;
  headers?: Record<string, string>;
}

let dir: string;
let engine: Server;
let stub: EngineStub;
let requestedPaths: string[];
let requestedQueries: Record<string, string>[];
beforeAll(async () => {
  dir = tempDir();
  engine = createServer(({ url = '' }, response) => {
    const [path = '', query = ''] = url.split('?');
    requestedPaths.push(path);
    requestedQueries.push(Object.fromEntries(new URLSearchParams(query)));
    const { responses, headers } = stub;
    response.writeHead(path in responses ? 200 : 404, { 'Content-Type': 'application/json', ...headers });
    const body = responses[path] ?? { message: 'not found' };
    response.end(Buffer.isBuffer(body) ? body : JSON.stringify(body));
  });
  engine.listen(join(dir, 'engine.sock'));
  await once(engine, 'listening');
});
beforeEach(() => {
  requestedPaths = [];
  requestedQueries = [];
  inspections = 0;
});
afterAll(async () => {
  engine.closeAllConnections();
  engine.close();
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

describe('listing statuses', () => {
  it('sends one request for all running containers and sorts them by name', async () => {
    const starting = entry('db', { Status: 'Up 2 seconds (health: starting)' });
    stub = { responses: { '/containers/json': [entry('web'), starting, entry('cache', { Status: 'Up 2 weeks' })] } };
    expect(await containers().listStatuses()).toMatchObject([
      { service: 'cache', name: 'deployd-eu-1-cache-1', state: 'running', health: null },
      { service: 'db', name: 'deployd-eu-1-db-1', state: 'running', health: 'starting' },
      { service: 'web', name: 'deployd-eu-1-web-1', state: 'running', health: 'healthy' },
    ]);
    expect(requestedPaths).toEqual(['/containers/json']);
    expect(inspections).toBe(0);
  });

  it('inspects a stopped container for its exit code and restart policy', async () => {
    const setup = inspection('setup', { Status: 'exited', ExitCode: 3 }, 'no');
    stub = {
      responses: { '/containers/json': [entry('setup', exited), entry('web')], '/containers/setup/json': setup },
    };
    expect(await containers().listStatuses()).toMatchObject([
      { service: 'setup', state: 'exited', exitCode: 3, restartPolicy: 'no' },
      { service: 'web', state: 'running' },
    ]);
    expect(requestedPaths).toEqual(['/containers/json', '/containers/setup/json']);
    expect(inspections).toBe(1);
  });

  it('inspects a container with an unknown status', async () => {
    const paused = entry('web', { State: 'paused', Status: 'Up 3 hours (Paused)' });
    const web = inspection('web', { Status: 'paused' });
    stub = { responses: { '/containers/json': [paused], '/containers/web/json': web } };
    expect(await containers().listStatuses()).toMatchObject([{ state: 'paused', health: 'healthy' }]);
  });

  it('leaves out a container that vanishes meanwhile', async () => {
    stub = { responses: { '/containers/json': [entry('setup', exited), entry('web')] } };
    expect(await containers().listStatuses()).toMatchObject([{ service: 'web' }]);
    expect(requestedPaths).toContain('/containers/setup/json');
  });

  it('ignores one-off containers of `compose run`, running or not', async () => {
    const Labels = { 'com.docker.compose.service': 'web', 'com.docker.compose.oneoff': 'True' };
    stub = {
      responses: { '/containers/json': [entry('web'), entry('run', { Labels }), entry('ran', { Labels, ...exited })] },
    };
    expect(await containers().listStatuses()).toMatchObject([{ name: 'deployd-eu-1-web-1' }]);
    expect(requestedPaths).toEqual(['/containers/json']);
  });
});

it.each(['tcp://127.0.0.1:1', 'ssh://elsewhere', 'unix:///nowhere.sock', 'tcp://:x'])(
  'uses the configured engine and ignores DOCKER_HOST=%s',
  async (elsewhere) => {
    process.env['DOCKER_HOST'] = elsewhere;
    stub = { responses: { '/volumes': { Volumes: [] }, '/containers/json': [] } };
    expect(await containers().volumes()).toEqual([]);
    expect(await containers().list()).toEqual([]);
  },
);

it('calls onInspect before it lists volumes, whose options may contain secrets', async () => {
  stub = { responses: { '/volumes': { Volumes: [] } } };
  expect(await containers().volumes()).toEqual([]);
  expect(inspections).toBe(1);
});

/** Responses recorded from Podman 4.3.1. */
const podman: EngineStub = {
  headers: { 'Libpod-API-Version': '4.3.1' },
  responses: {
    '/version': { Version: '4.3.1' },
    '/containers/json': [entry('web', { Status: 'Up 3 hours' })],
    '/containers/web/json': inspection('web', { Health: { Status: '', Log: null } }, ''),
  },
};

it('returns the version of Podman, and null for another engine or one that does not respond', async () => {
  const { responses } = (stub = podman);
  expect(await containers().podmanVersion()).toBe('4.3.1');
  stub = { responses };
  expect(await containers().podmanVersion()).toBeNull();
  stub = { responses: {} };
  expect(await containers().podmanVersion()).toBeNull();
});

describe('a container of Podman', () => {
  it('has no health without a healthcheck', async () => {
    stub = podman;
    expect(await containers().list()).toMatchObject([
      { service: 'web', state: 'running', health: null, healthLog: [], restartPolicy: 'no' },
    ]);
  });

  it('is inspected when statuses are listed', async () => {
    const unhealthy = inspection('web', { Health: { Status: 'unhealthy', Log: null } });
    stub = { ...podman, responses: { ...podman.responses, '/containers/web/json': unhealthy } };
    expect(await containers().listStatuses()).toMatchObject([{ service: 'web', health: 'unhealthy' }]);
  });

  it('is asked for its whole log, of which the last lines are taken', async () => {
    const lines = Array.from({ length: 30 }, (_, n) => `${n}\n`);
    stub = { ...podman, responses: { ...podman.responses, '/containers/web/logs': Buffer.from(lines.join('')) } };
    expect(await containers().logs('web')).toEqual([{ text: lines.slice(-20).join(''), truncated: false }]);
    expect(requestedPaths).toEqual(['/version', '/containers/web/logs']);
    expect(requestedQueries.at(-1)).not.toHaveProperty('tail');
  });
});

describe('listing resource users', () => {
  const mounts = [
    { Type: 'bind', Source: '/srv/x', RW: false },
    { Type: 'volume', Name: 'data', Source: '' },
  ];
  const networks = { Networks: { bridge: {} } };
  const resourceUser = {
    id: 'f',
    name: 'foreign',
    project: 'other',
    image: 'app:1',
    imageId: 'sha256:1',
    mounts: ['/srv/x'],
    mounted: [
      { path: '/srv/x', volume: null, target: '', isWritable: false },
      { path: '', volume: 'data', target: '', isWritable: true },
    ],
    volumes: ['data'],
    networks: ['bridge'],
  };
  const Labels = { 'com.docker.compose.project': 'other' };
  const listed = { Id: 'f', Names: ['/web/link', '/foreign'], Image: 'app:1', ImageID: 'sha256:1', Labels };

  it('takes one request with Docker and covers containers of all projects', async () => {
    stub = { responses: { '/containers/json': [{ ...listed, Mounts: mounts, NetworkSettings: networks }] } };
    expect(await containers().resourceUsers()).toEqual([resourceUser]);
    expect([requestedPaths, inspections]).toEqual([['/containers/json'], 0]);
  });

  it('inspects each container with Podman, whose list lacks mounts', async () => {
    const inspected = { Id: 'f', Name: 'foreign', Image: 'sha256:1', Config: { Image: 'app:1', Labels } };
    const found = { ...inspected, Mounts: mounts, NetworkSettings: networks };
    const responses = { '/containers/json': [listed, { ...listed, Id: 'gone' }], '/containers/f/json': found };
    stub = { responses, headers: { 'libpod-api-version': '4.3.1' } };
    expect(await containers().resourceUsers()).toEqual([resourceUser]);
  });
});

it.each([
  ['1.45', true],
  ['1.51', true],
  ['2.0', true],
  ['1.44', false],
  ['1.5', false],
  ['0.50', false],
  [undefined, false],
])('an engine with API version %s mounts parts of volumes: %s', async (apiVersion, mounts) => {
  const responses = { '/containers/json': [], '/networks': [], '/volumes': { Volumes: null } };
  stub = { responses, headers: apiVersion === undefined ? {} : { 'Api-Version': apiVersion } };
  expect(await containers().policyFacts()).toMatchObject({ mountsSubpaths: mounts });
});
