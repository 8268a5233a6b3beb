import { Fault } from '../../../machines/fault.ts';
import type { Transport } from './agents.ts';

const LINE = 'transport sdk: not available in this version; set transport to proxy or system in config.yaml';

/** The in-process mesh: this version has no client for it, and says so by name before anything is dialled. */
export function createSdk(): Transport {
  return {
    name: 'sdk',
    agents: () => {
      throw new Fault('failed', LINE, { code: 'TRANSPORT_UNAVAILABLE' });
    },
    close: () => undefined,
  };
}
