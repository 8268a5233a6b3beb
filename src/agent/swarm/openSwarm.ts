import { totalmem } from 'node:os';
import { join } from 'node:path';
import type { Settings } from '../config/configKeys.ts';
import { lastPiecesOf } from '../engine/containerLogs.ts';
import { createEngineApi, type EngineApi, ignoreNotFound } from '../engine/engineApi.ts';
import { type LogExcerpt, logExcerptsOf } from '../engine/logs.rules.ts';
import { composeLimitsOf, dockerEnvironment, expectSuccess, runProgram } from '../engine/programs.ts';
import { type RegistryLogin, withLogins } from '../engine/registries.ts';
import type { Redactor } from '../secrets/redactor.ts';
import type { Vault } from '../secrets/vault.ts';
import { createSwarmFacts } from './sharedState.ts';
import type { SwarmService, SwarmTask } from './stackTask.rules.ts';
import {
  createSwarmContents,
  createSwarmObjects,
  inBody,
  isOutOfSequence,
  swarmNamesOf,
  unless,
} from './swarmObjects.ts';
import type { SwarmMembership, SwarmNode } from './swarmState.rules.ts';

/** The name of the stack, and its abort signal. */
export interface SwarmOptions {
  settings: Settings;
  /** Name of the stack. */
  project: string;
  vault: Pick<Vault, 'redactor' | 'noteUntrackedSecrets'>;
  /** On abort every call fails with the fault `stopped`. */
  signal: AbortSignal;
}

export type SwarmAdapters = ReturnType<typeof openSwarm>;

/** Milliseconds: a manager that has lost its quorum answers after twenty seconds. */
const callTimeoutMs = 30_000;

/** The calls to the swarm of this host's engine. */
export function openSwarm({ settings, project, vault, signal }: SwarmOptions) {
  const { container_host: containerHost, env } = settings;
  const onInspect = () => vault.noteUntrackedSecrets();
  const timeoutsMs = { call: callTimeoutMs, removal: callTimeoutMs };
  const api = createEngineApi({ containerHost, signal, timeoutsMs, onInspect });
  const [config, secret] = [createSwarmObjects('config', api), createSwarmObjects('secret', api)];
  return {
    swarm: createSwarm(api, project, onInspect),
    stacks: createStackProgram(settings, project, { redactor: () => vault.redactor() }),
    contents: createSwarmContents({ config, secret }, env),
    nodeServices: createNodeServices(api, env),
    facts: createSwarmFacts(config, env),
  };
}

export type NodeServices = ReturnType<typeof createNodeServices>;

/**
 * The service that runs work of an environment on nodes; it belongs to no stack, and exists only while the work runs.
 */
export function createNodeServices({ getJson, withDocker }: EngineApi, env: string) {
  const labels = { 'deployd.env': env, 'deployd.job': 'node' };
  const filters = JSON.stringify({ label: Object.entries(labels).map((entry) => entry.join('=')) });
  const removeAll = async (): Promise<void> => {
    const { json } = await getJson({ path: '/services', query: { filters } });
    for (const { ID } of json as { ID: string }[])
      await withDocker((docker, options) => ignoreNotFound(docker.getService(ID).remove(options)));
  };
  return {
    labels,
    name: swarmNamesOf(env).job,

    /** Starts the service after removing one that an agent has left behind. Resolves to its id. */
    start: async (service: object): Promise<string> => {
      await removeAll();
      return withDocker(async (docker, options) => (await docker.createService(inBody(options, service))).id);
    },

    /** Its tasks, without the tasks of an earlier service, which remain for a while. */
    tasks: async (id: string): Promise<SwarmTask[]> => {
      const query = { filters: JSON.stringify({ service: [id] }) };
      return (await getJson({ path: '/tasks', query })).json as SwarmTask[];
    },

    removeAll,
  };
}

const maxPieces = 20;
/** One more than is shown, to detect whether there are more. */
const logQuery = { stdout: 'true', stderr: 'true', tail: String(maxPieces + 1) };

export type Swarm = ReturnType<typeof createSwarm>;

/**
 * Calls to the swarm that this engine is a manager of, about the stack of that name; `onInspect` is called before a request
 * whose response contains environments of services, and so secrets. Throws RUNTIME_UNAVAILABLE when it does not respond.
 */
export function createSwarm({ getJson, openStream, withDocker }: EngineApi, project: string, onInspect: () => void) {
  const get = async (path: string, query: Record<string, string> = {}) => (await getJson({ path, query })).json;
  const filters = JSON.stringify({ label: [`com.docker.stack.namespace=${project}`] });
  return {
    /** The engine's description of its place in a swarm. */
    membership: async (): Promise<SwarmMembership> => ((await get('/info')) as { Swarm: SwarmMembership }).Swarm,

    /** Every node of the swarm. */
    nodes: async (): Promise<SwarmNode[]> => (await get('/nodes')) as SwarmNode[],

    /** The stack's services, with the desired number of tasks of each. */
    services: async (): Promise<SwarmService[]> => {
      onInspect();
      return (await get('/services', { filters, status: 'true' })) as SwarmService[];
    },

    /**
     * Makes the swarm create new tasks of an unchanged service; false if another writer was first, such as the swarm
     * itself during an update.
     */
    startAnew: ({ ID, Version, Spec }: SwarmService): Promise<boolean> => {
      const { ForceUpdate = 0 } = Spec.TaskTemplate;
      const forced = { ...Spec, TaskTemplate: { ...Spec.TaskTemplate, ForceUpdate: ForceUpdate + 1 } };
      return withDocker((docker, options) =>
        unless(
          isOutOfSequence,
          docker.getService(ID).update(inBody(options, forced, { version: Version.Index })) as Promise<unknown>,
        ),
      );
    },

    /** The last lines that a task wrote, on any node, unredacted. Throws ENGINE_ERROR for a task that is gone. */
    logs: async (taskId: string): Promise<LogExcerpt[]> => {
      const body = await openStream({ path: `/tasks/${taskId}/logs`, query: logQuery });
      return logExcerptsOf(await lastPiecesOf(body, maxPieces + 1), { maxPieces });
    },

    /** Number of containers of the stack on this node; they remain for a while after their tasks. */
    containers: async (): Promise<number> =>
      ((await get('/containers/json', { all: 'true', filters })) as object[]).length,

    /** Names of the stack's volumes on this node; a manager cannot list volumes of other nodes. */
    volumes: async (): Promise<string[]> => {
      const { Volumes } = (await get('/volumes', { filters })) as { Volumes: { Name: string }[] | null };
      return (Volumes ?? []).map(({ Name }) => Name).sort();
    },

    /** The stack's tasks, including ended ones while the swarm keeps them. */
    tasks: async (): Promise<SwarmTask[]> => {
      onInspect();
      return (await get('/tasks', { filters })) as SwarmTask[];
    },
  };
}

const probeTimeoutS = 10;

export type StackProgram = ReturnType<typeof createStackProgram>;

/**
 * `docker stack` for one stack, with a separate environment. The stack file is passed only by stdin, since it contains
 * secrets.
 */
export function createStackProgram(settings: Settings, project: string, { redactor }: { redactor: () => Redactor }) {
  const dir = join(settings.state_dir, settings.env, 'docker-config');
  const { up_timeout_s, down_timeout_s } = settings;
  const common = {
    cwd: dir,
    env: { ...dockerEnvironment(settings, dir), PWD: dir },
    limits: composeLimitsOf(totalmem()),
  };
  return {
    /** Throws when `docker` does not run. */
    probe: async (signal: AbortSignal): Promise<void> => {
      const call = { ...common, cwd: '/', redactor: redactor(), timeoutS: probeTimeoutS };
      const result = await runProgram({ ...call, argv: ['docker', '--version'] }, signal);
      expectSuccess('--version', result, { code: 'RUNTIME_UNAVAILABLE', timeoutS: probeTimeoutS });
    },

    /**
     * Creates and updates the stack's services, and removes others. Without logins the swarm keeps its existing logins.
     * Does not wait for tasks. Throws `UP_FAILED`.
     */
    deploy: (file: object, logins: RegistryLogin[], signal: AbortSignal): Promise<void> =>
      withLogins(dir, logins, async () => {
        const options = ['--prune', '--resolve-image=never', '--compose-file', '-'];
        if (logins.length > 0) options.push('--with-registry-auth');
        const call = { ...common, redactor: redactor(), timeoutS: up_timeout_s, stdin: JSON.stringify(file) };
        const result = await runProgram({ ...call, argv: ['docker', 'stack', 'deploy', ...options, project] }, signal);
        expectSuccess('stack deploy', result, { code: 'UP_FAILED', timeoutS: up_timeout_s });
      }),

    /** Removes the stack; its tasks and networks go later. Throws `DOWN_FAILED`. */
    remove: (signal: AbortSignal): Promise<void> =>
      withLogins(dir, [], async () => {
        const call = { ...common, redactor: redactor(), timeoutS: down_timeout_s };
        const result = await runProgram({ ...call, argv: ['docker', 'stack', 'rm', project] }, signal);
        expectSuccess('stack rm', result, { code: 'DOWN_FAILED', timeoutS: down_timeout_s });
      }),
  };
}
