import { type Refusal, refusalWith, type RefusedFault } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { validateComposedNames } from '../policy/engineNames.rules.ts';
import type { EnginePolicyFacts, OrchestratorName } from '../policy/policyHost.rules.ts';
import {
  type BundleToStart,
  type EngineMeans,
  readServices,
  type ResolveText,
  resolveWith,
} from './bundleToStart.rules.ts';
import type { ComparableRelease } from './changes.rules.ts';
import { executionsOf } from './executions.rules.ts';
import {
  copiedOwnerFaults,
  type EngineImages,
  plannedPulls,
  processorNotices,
  type ServiceImages,
} from './images.rules.ts';
import { addressFaults, ipv6Faults, missingNames, subnetFaults } from './networkFaults.rules.ts';
import { type FileHead, noticesOf } from './notices.rules.ts';
import { portFaults, replicasOf, takenPortFaults } from './portFaults.rules.ts';
import { cpuFaults, memoryFaults, readOnlyFaults, startIntervalFaults } from './resourceFaults.rules.ts';
import { imagesWithNamedUsers, namedUserFaults } from './users.rules.ts';
import { servicesToAwait } from './waitPlan.rules.ts';
import type { WrittenService } from './writtenServices.rules.ts';
import type { ComposeProject } from '../compose/composeProject.rules.ts';

/**
 * The faults that `up` will surely refuse: on any host with Docker and compose if `engine` is null, otherwise on the
 * host of this engine. Faults that only Docker refuses are left out for Podman.
 */
function hostFaults(bundle: BundleToStart, engine: EngineMeans | null): RefusedFault[] {
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

/** The parts of a bundle that will not start. */
interface StartFaults {
  /** The faults that the host of the plan surely refuses when compose starts it. */
  refusals: Refusal[];
  notices: RefusedFault[];
}

interface StartedBundle extends ComparableRelease {
  manifest: Manifest;
  isApplied?: boolean;
  /** How the files that services run begin, by path; absent where nobody asks. */
  heads?: ReadonlyMap<string, FileHead>;
}

interface StartingHost {
  orchestrator: OrchestratorName;
  /** Null where it is not known. */
  engine: { means?: EngineMeans; policyFacts: EnginePolicyFacts; images?: EngineImages } | null;
}

/**
 * The parts that will not start of a bundle whose compose files could all be read, and the parts that will probably not
 * work. Without an engine, and if the same content already runs here, nothing is refused; a swarm has separate rules.
 */
export function startFaultsOf(bundle: StartedBundle, { orchestrator, engine }: StartingHost): StartFaults {
  const { project, manifest, isApplied = false, heads = new Map<string, FileHead>() } = bundle;
  if (project.files.length < manifest.compose.length) return { refusals: [], notices: [] };
  const { start, written } = bundleToStart(bundle);
  const means = engine?.means ?? null;
  const images = engine?.images === undefined ? new Map() : keptImages(bundle, engine.images);
  const notices = noticesOf({ start, written, heads, engine: means, images });
  const taken = engine === null ? [] : takenNames(start, manifest, engine);
  const faults =
    orchestrator === 'swarm'
      ? []
      : [
          ...hostFaults(start, means),
          ...namedUserFaults(start, means?.accounts ?? new Map()),
          ...copiedOwnerFaults(start, images, means),
          ...taken,
        ];
  const isRefused = engine !== null && !isApplied && faults.length > 0;
  return isRefused
    ? { refusals: [refusalWith('COMPOSE_REFUSED', faults)], notices }
    : { refusals: [], notices: [...faults, ...notices] };
}

/** The images of services that the host has and an apply keeps. */
function keptImages(bundle: StartedBundle, images: EngineImages): ServiceImages {
  return new Map(
    plannedPulls(bundle, images).flatMap(({ image, services, pull }) => {
      const local = pull === 'local' ? images.local.get(image) : null;
      return local ? services.map((service) => [service, local] as const) : [];
    }),
  );
}

/** The same of the images that were pulled, which nobody knew before. */
export function pulledImageFaults(
  { project, manifest }: Pick<StartedBundle, 'project' | 'manifest'>,
  images: ServiceImages,
  engine: EngineMeans,
): { faults: RefusedFault[]; notices: RefusedFault[] } {
  const resolve = resolveWith(manifest);
  const start = { ...toStart(project, resolve), resolve, jobs: new Set<string>() };
  return { faults: copiedOwnerFaults(start, images, engine), notices: processorNotices(start, images, engine) };
}

/** Paths of the bundle's files that its services run, of those that it has; a plan reads how they begin. */
export function executedFiles(bundle: StartedBundle, paths: readonly string[]): string[] {
  const { start } = bundleToStart(bundle);
  const runs = executionsOf(start.services, { files: start.files, resolve: start.resolve, paths });
  const own = new Set(paths);
  return [...new Set(runs.map(({ path }) => path))].filter((path) => own.has(path));
}

/** The images whose users decide whether a service starts, of those that the host has and an apply keeps. */
export function imagesToRead(bundle: StartedBundle, images: EngineImages): string[] {
  const { start } = bundleToStart(bundle);
  return imagesWithNamedUsers(bundle, start.services, images);
}

function bundleToStart(bundle: StartedBundle): { start: BundleToStart; written: WrittenService[] } {
  const resolve = resolveWith(bundle.manifest);
  const written = servicesToAwait(bundle);
  const jobs = new Set(written.flatMap(({ name, kind }) => (kind === 'job' ? name : [])));
  return { start: { ...toStart(bundle.project, resolve), resolve, jobs }, written };
}

/** The services that have containers, with the values of known variables. */
function toStart({ files, active }: ComposeProject, resolve: ResolveText): Pick<BundleToStart, 'files' | 'services'> {
  return { files, services: readServices(active, resolve).filter((service) => replicasOf(service) > 0) };
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
