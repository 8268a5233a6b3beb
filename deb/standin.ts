import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { makeBundle } from '../fixtures/bundles.ts';
import { startWorld } from '../fixtures/world.ts';

/** A host on which a tick finds everything well, without a real engine. */
export interface StandIn {
  configFile: string;
  stop: () => Promise<void>;
}

const service = 'web';
const image = 'registry.example/web:1';
const model = { services: { [service]: { image } } };

/** Asked for the normalised model it prints it, asked for anything else its version. */
const composeProgram = `#!/bin/sh
case " $* " in
*' config '*) echo '${JSON.stringify(model)}' ;;
*) echo 2.40.0 ;;
esac
`;

/** Seconds: a build does not fail because the machine is busy. */
const patience = { connect_timeout_s: 60, http_timeout_s: 60, download_stall_s: 60, download_timeout_s: 60 };

/** Starts the services, an engine that always tells of one healthy container, and a compose that agrees to everything. */
export async function startStandIn(): Promise<StandIn> {
  const world = await startWorld();
  const socket = join(world.dir, 'engine.sock');
  const compose = join(world.dir, 'compose');
  await writeFile(compose, composeProgram, { mode: 0o755 });
  const config = { container_host: `unix://${socket}`, compose, settle_s: 0, ...patience };
  const host = await world.host({ env: 'warm', config });
  const engine = createServer((request, response) => {
    const answer = answerTo(request.url ?? '', `deployd-${host.env}`);
    response.writeHead(answer === null ? 404 : 200, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(answer ?? { message: 'no such object' }));
  });
  engine.listen(socket);
  await once(engine, 'listening');
  world.tenancy.announce(host.env, makeBundle({ env: host.env, compose: model }).bytes);
  const stop = async () => {
    engine.closeAllConnections();
    engine.close();
    await world.stop();
  };
  return { configFile: host.configFile, stop };
}

function answerTo(url: string, project: string): object | null {
  const [path = ''] = url.replace(/^\/v[\d.]+/, '').split('?');
  const answers: Record<string, object> = {
    '/_ping': {},
    '/info': { DockerRootDir: '/', DriverStatus: [] },
    '/volumes': { Volumes: [] },
    '/networks': [],
    '/images/json': [],
    '/containers/json': [listEntry(project)],
    [`/containers/${service}/json`]: healthyContainer(project),
  };
  return answers[path] ?? null;
}

function listEntry(project: string): object {
  const { Id, Name, State, Config } = healthyContainer(project);
  return { Id, Names: [Name], State: State.Status, Status: 'Up 3 hours (healthy)', Labels: Config.Labels };
}

function healthyContainer(project: string) {
  const labels = { 'com.docker.compose.project': project, 'com.docker.compose.service': service };
  return {
    Id: service,
    Name: `/${project}-${service}-1`,
    Image: 'sha256:0',
    RestartCount: 0,
    State: { Status: 'running', ExitCode: 0, Health: { Status: 'healthy', Log: [] } },
    HostConfig: { RestartPolicy: { Name: 'always' } },
    Config: { Image: image, Labels: { ...labels, 'com.docker.compose.oneoff': 'False' } },
    Mounts: [],
    NetworkSettings: { Networks: {} },
  };
}
