import type { Settings } from '../../config/settings.ts';
import type { Vault } from '../../secrets/vault.ts';
import { createEngineApi } from '../engine/engineApi.ts';
import { createSwarmObjects } from '../engine/swarmObjects.ts';
import { createNodeServices } from './nodeServices.ts';
import { createStackProgram } from './stackProgram.ts';
import { createSwarm } from './swarm.ts';
import { createSwarmContents } from './swarmContents.ts';
import { createSwarmFacts } from './swarmFacts.ts';

/** Which stack is driven, and what ends it. */
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

/** All that reaches the swarm of this host's engine. */
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
