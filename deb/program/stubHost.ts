import { createBundle } from '../../fixtures/world/bundles/bundle.ts';
import { startStubEngine, stubModel } from '../../fixtures/world/network/stubEngine.ts';
import { startWorld } from '../../fixtures/world/world.ts';

/** A host on which a tick converges, without a real engine. */
export interface StubHost {
  configFile: string;
  stop: () => Promise<void>;
}

/** Seconds. A build must not fail because the machine is busy. */
const longTimeouts = { connect_timeout_s: 60, http_timeout_s: 60, download_stall_s: 60, download_timeout_s: 60 };

/** Starts the services and a stub engine, and announces a bundle that fits its container; `config` are further keys of the host. */
export async function startStubHost(config: object = {}): Promise<StubHost> {
  const world = await startWorld();
  const engine = await startStubEngine(world.dir);
  const host = await world.host({ env: 'warm', config: { ...engine.config, settle_s: 0, ...longTimeouts, ...config } });
  world.tenancy.announce(host.env, createBundle({ env: host.env, compose: stubModel }).bytes);
  const stop = async () => {
    await engine.stop();
    await world.stop();
  };
  return { configFile: host.configFile, stop };
}
