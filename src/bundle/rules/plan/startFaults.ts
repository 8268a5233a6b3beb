import { refusalWith, type Refusal, type RefusedFault } from '../../../../machines/refusals.ts';
import type { Manifest } from '../../../../machines/types.ts';
import { activeServiceLayers } from '../compose/document/profiles.ts';
import { validateComposedNames } from '../compose/policy/engineNames.ts';
import type { EnginePolicyFacts, OrchestratorName } from '../compose/policy/policyHost.ts';
import type { ComparableRelease } from './changes.ts';
import { hostFaults, replicasOf, type BundleToStart, type EngineMeans } from './hostFaults.ts';
import { servicesToAwait } from './waitPlan.ts';
import { readServices, resolveWith } from './writtenText.ts';

/** What of a bundle will not start. */
export interface StartFaults {
  /** What the host of the plan surely refuses when compose starts it. */
  refusals: Refusal[];
  notices: RefusedFault[];
}

interface StartedBundle extends ComparableRelease {
  manifest: Manifest;
  isApplied?: boolean;
}

interface StartingHost {
  orchestrator: OrchestratorName;
  /** Null where it is not known. */
  engine: { means?: EngineMeans; policyFacts: EnginePolicyFacts } | null;
}

/**
 * What will not start of a bundle whose compose files could all be read. Without an engine, and where the same content runs here
 * already, nothing is refused; a swarm has rules of its own.
 */
export function startFaultsOf(bundle: StartedBundle, { orchestrator, engine }: StartingHost): StartFaults {
  const { files, manifest, isApplied = false } = bundle;
  if (orchestrator === 'swarm' || files.length < manifest.compose.length) return { refusals: [], notices: [] };
  const start = bundleToStart(bundle);
  const faults = [
    ...hostFaults(start, engine?.means ?? null),
    ...(engine === null ? [] : takenNames(start, manifest, engine)),
  ];
  const isRefused = engine !== null && !isApplied && faults.length > 0;
  return isRefused
    ? { refusals: [refusalWith('COMPOSE_REFUSED', faults)], notices: [] }
    : { refusals: [], notices: faults };
}

function bundleToStart(bundle: StartedBundle): BundleToStart {
  const { files, manifest } = bundle;
  const resolve = resolveWith(manifest);
  const services = readServices(activeServiceLayers(files, manifest.profiles), resolve);
  const jobs = new Set(servicesToAwait(bundle).flatMap(({ name, kind }) => (kind === 'job' ? name : [])));
  return { files, resolve, jobs, services: services.filter((service) => replicasOf(service) > 0) };
}

function takenNames(
  { services }: BundleToStart,
  { env }: Manifest,
  { policyFacts: { outside } }: { policyFacts: EnginePolicyFacts },
): RefusedFault[] {
  const layers = new Map(services.map((service) => [service.name, service.layers]));
  const found = validateComposedNames(layers, { projectName: `deployd-${env}`, outside });
  return found.map(({ text, cure }) => ({ text, cure }));
}
