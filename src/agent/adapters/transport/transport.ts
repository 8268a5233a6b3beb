import type { Settings } from '../../config/settings.ts';
import type { Transport } from './agents.ts';
import { createProxy } from './proxy.ts';
import { systemRoots, type Roots } from './roots.ts';
import { createSdk } from './sdk.ts';
import { createSystem } from './system.ts';
import { createTrusts } from './trust.ts';

export type { Transport };

/** The transport that config.yaml names; throws a Fault by its name when it cannot work. Without `roots` none is remembered. */
export function createTransport(settings: Settings, roots: Roots = systemRoots(null)): Transport {
  const trusts = createTrusts(settings, roots);
  switch (settings.transport) {
    case 'system':
      return createSystem(settings, trusts);
    case 'proxy':
      return createProxy(settings, trusts);
    case 'sdk':
      return createSdk(settings, trusts);
  }
}
