import type { Settings } from '../../config/settings.ts';
import type { Transport } from './agents.ts';
import { createProxy } from './proxy.ts';
import { createSdk } from './sdk.ts';
import { createSystem } from './system.ts';

export type { Transport };

/** The transport that config.yaml names; throws a Fault by its name when it cannot work. */
export function createTransport(settings: Settings): Transport {
  switch (settings.transport) {
    case 'system':
      return createSystem(settings);
    case 'proxy':
      return createProxy(settings);
    case 'sdk':
      return createSdk(settings);
  }
}
