import type { RefusedFault } from '../../../../machines/refusals.ts';
import type { BundleToStart, EngineMeans } from './bundleToStart.ts';
import { addressFaults, ipv6Faults, missingNames, subnetFaults } from './networkFaults.ts';
import { portFaults, takenPortFaults } from './portFaults.ts';
import { cpuFaults, memoryFaults, readOnlyFaults, startIntervalFaults } from './resourceFaults.ts';

/**
 * What `up` will surely refuse: of any host with Docker and compose where `engine` is null, else of the host of this engine. What
 * only Docker refuses is left out for Podman.
 */
export function hostFaults(bundle: BundleToStart, engine: EngineMeans | null): RefusedFault[] {
  const ofDocker = [readOnlyFaults, memoryFaults, addressFaults];
  const ofAny = [portFaults];
  const ofEngine = engine === null ? [] : engineFaults(bundle, engine);
  const common = engine?.isPodman === true ? ofAny : [...ofDocker, ...ofAny];
  return [...common.flatMap((faultsOf) => faultsOf(bundle)), ...ofEngine];
}

function engineFaults(bundle: BundleToStart, engine: EngineMeans): RefusedFault[] {
  return [
    ...(engine.isPodman ? [] : [...cpuFaults(bundle, engine), ...subnetFaults(bundle, engine)]),
    ...startIntervalFaults(bundle, engine),
    ...ipv6Faults(bundle, engine),
    ...takenPortFaults(bundle, engine),
    ...missingNames(bundle, engine),
  ];
}
