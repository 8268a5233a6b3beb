import type { Settings } from '../../config/settings.ts';
import { createProxyTransport } from './proxyTransport.ts';
import { createSdkTransport } from './sdkTransport.ts';
import { openSystemRoots, type SystemRoots } from './systemRoots.ts';
import { createSystemTransport } from './systemTransport.ts';
import type { Transport } from './transport.ts';
import { createTrustStore } from './trustStore.ts';

/**
 * The transport that config.yaml names; throws a Fault with its name when it cannot work. Without `roots` no roots are
 * remembered.
 */
export function createTransport(settings: Settings, roots: SystemRoots = openSystemRoots(null)): Transport {
  const trustStore = createTrustStore(settings, roots);
  switch (settings.transport) {
    case 'system':
      return createSystemTransport(settings, trustStore);
    case 'proxy':
      return createProxyTransport(settings, trustStore);
    case 'sdk':
      return createSdkTransport(settings, trustStore);
  }
}
