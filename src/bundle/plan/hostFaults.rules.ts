import { type Refusal, refusalWith, type RefusedFault } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { printable } from '../../core/text.rules.ts';
import {
  type ComposeNode,
  entriesOf,
  itemsOf,
  textOf,
  textsOf,
  valueAt,
  valuesAt,
} from '../compose/composeNode.rules.ts';
import type { ComposeProject } from '../compose/composeProject.rules.ts';
import { contains, formatAddress, parseAddress, parseSubnet, type Subnet } from '../compose/networks.rules.ts';
import { effectiveValue } from '../compose/services.rules.ts';
import { validateComposedNames } from '../policy/engineNames.rules.ts';
import type { EnginePolicyFacts, OrchestratorName } from '../policy/policyHost.rules.ts';
import {
  type BundleToStart,
  type EngineMeans,
  fault,
  isTrue,
  type ReadService,
  readServices,
  type ResolveText,
  resolveWith,
} from './bundleToStart.rules.ts';
import type { Change, ComparableRelease } from './changes.rules.ts';
import { executionsOf } from './executions.rules.ts';
import {
  copiedOwnerFaults,
  type EngineImages,
  plannedPulls,
  processorNotices,
  type ServiceImages,
} from './images.rules.ts';
import { type FileHead, noticesOf } from './notices.rules.ts';
import {
  cpuFaults,
  isSince,
  memoryFaults,
  portFaults,
  publishesPorts,
  readOnlyFaults,
  replicasOf,
  startIntervalFaults,
  takenPortFaults,
} from './resourceFaults.rules.ts';
import { volumeOf } from './references.rules.ts';
import {
  imageVolumeFaults,
  type PlannedReplacement,
  plannedReplacements,
  startFirstCandidates,
  startFirstNotices,
  startFirstRefusal,
  startFirstServices,
} from './startFirst.rules.ts';
import { imagesWithNamedUsers, namedUserFaults } from './users.rules.ts';
import { servicesToAwait } from './waitPlan.rules.ts';
import type { WrittenService } from './writtenServices.rules.ts';

/** A network of the bundle that the engine makes, with its subnets. */
interface MadeNetwork {
  key: string;
  node: ComposeNode;
  isBridge: boolean;
  /** Null where another program gives the addresses, or where they are not known yet. */
  subnets: readonly Subnet[] | null;
  gateways: readonly string[];
  hasIpv6: boolean;
}

function madeNetworks({ files, resolve }: BundleToStart): MadeNetwork[] {
  const roots = files.map(({ root }) => valueAt(root, 'networks'));
  const keys = [...new Set(roots.flatMap((networks) => entriesOf(networks).map(([key]) => key)))];
  return keys.flatMap((key) => {
    const layers = valuesAt(roots, key);
    const [node] = layers;
    const read = (...path: string[]) => resolve(textOf(effectiveValue(layers, ...path)) ?? '');
    const external = effectiveValue(layers, 'external');
    if (node === undefined || (external && !/^(false|no|off|n)$/i.test(textOf(external) ?? ''))) return [];
    const entries = valuesAt(layers, 'ipam', 'config').flatMap(itemsOf);
    const texts = (name: string) => entries.flatMap((entry) => textOf(valueAt(entry, name)) ?? []);
    const parsed = texts('subnet').map((text) => parseSubnet(resolve(text) ?? ''));
    const known = parsed.filter((each) => each !== null);
    const hasOwnAddresses = /^(default)?$/.test(read('ipam', 'driver') ?? '-') && known.length === parsed.length;
    return {
      key,
      node,
      isBridge: /^(bridge)?$/.test(read('driver') ?? '-'),
      subnets: hasOwnAddresses ? known : null,
      gateways: texts('gateway').map((text) => resolve(text) ?? ''),
      hasIpv6: isTrue.test(read('enable_ipv6') ?? ''),
    };
  });
}

function ipv6Faults(bundle: BundleToStart, engine: EngineMeans): RefusedFault[] {
  if (engine.isPodman || engine.apiVersion === '' || isSince(engine.apiVersion, 46) || engine.hasIpv6Pool) return [];
  return usedNetworks(bundle)
    .filter(({ hasIpv6, isBridge, subnets }) => hasIpv6 && isBridge && subnets?.every(({ family }) => family === 4))
    .flatMap(({ key, node }) =>
      fault(bundle.files, node, {
        text: `network ${printable(key)}: enable_ipv6 needs an IPv6 subnet: the engine of this host has no IPv6 address pool`,
        cure: 'name a subnet below fd00::/8 under ipam.config, give the engine an IPv6 pool in default-address-pools, or install Docker 27 or newer',
      }),
    );
}

function subnetFaults(bundle: BundleToStart, { networks }: EngineMeans): RefusedFault[] {
  const made = usedNetworks(bundle).filter(({ isBridge }) => isBridge);
  return made.flatMap(({ key, node, subnets }) => {
    const overlapping = networks.find(({ subnets: others }) =>
      others.some((other) => subnets?.some((own) => overlap(own, parseSubnet(other)))),
    );
    return overlapping === undefined
      ? []
      : fault(bundle.files, node, {
          text: `network ${printable(key)}: its subnet overlaps the subnet of network ${printable(overlapping.name)}, which is outside the project`,
          cure: 'choose another subnet, or leave ipam.config out',
        });
  });
}

function overlap(one: Subnet, other: Subnet | null): boolean {
  return other !== null && (contains(one, other) || contains(other, one));
}

/** Networks that a service with containers is on, `default` among them. */
function usedNetworks(bundle: BundleToStart): MadeNetwork[] {
  const used = new Set(bundle.services.filter(publishesPorts).flatMap(networksOf));
  return madeNetworks(bundle).filter(({ key }) => used.has(key));
}

function networksOf({ layers }: ReadService): string[] {
  const values = valuesAt(layers, 'networks');
  const names = values.flatMap((value) =>
    value.kind === 'map' ? entriesOf(value).map(([key]) => key) : textsOf(itemsOf(value)),
  );
  return names.length === 0 ? ['default'] : names;
}

/** Addresses that the engine cannot give to a container. */
function addressFaults(bundle: BundleToStart): RefusedFault[] {
  const { files, services, jobs, resolve } = bundle;
  const made = new Map(madeNetworks(bundle).map((network) => [network.key, network]));
  const users = new Map<string, string>();
  return services.flatMap((service) => {
    const names = networksOf(service);
    return names.flatMap((name) =>
      ['ipv4_address', 'ipv6_address'].flatMap((key) => {
        const node = service.node('networks', name, key);
        const address = parseAddress(resolve(textOf(node) ?? '') ?? '');
        const network = made.get(name);
        if (address === null || network === undefined) return [];
        const text = formatAddress(address);
        const at = (message: string, cure: string) =>
          fault(files, node, {
            text: `service ${printable(service.name)}: networks.${printable(name)}.${key} ${text} ${message}`,
            cure,
          });
        const user = users.get(`${name} ${text}`);
        if (!jobs.has(service.name)) users.set(`${name} ${text}`, service.name);
        if (user !== undefined && !jobs.has(service.name))
          return at(`is also used by service ${printable(user)}`, 'give each service its own address');
        if (replicasOf(service) > 1) return at('is one address for several containers', 'leave it out');
        return unusableAddress(address, network).flatMap(([message, cure]) => at(message, cure));
      }),
    );
  });
}

function unusableAddress(address: Subnet, { subnets, gateways, isBridge }: MadeNetwork): [string, string][] {
  if (subnets === null) return [];
  const own = subnets.filter(({ family }) => family === address.family);
  if (own.length === 0 && !isBridge) return [];
  if (own.length === 0) return [['needs a subnet, which its network does not name', 'name one under ipam.config']];
  if (!own.some((subnet) => contains(subnet, address)))
    return [['is outside the subnet of its network', 'choose an address of the subnet']];
  return isBridge && gateways.includes(formatAddress(address))
    ? [['is the address of the gateway', 'choose another address of the subnet']]
    : [];
}

/** Networks and volumes from outside the project that are not there. */
function missingNames({ files, services, resolve }: BundleToStart, { names }: EngineMeans): RefusedFault[] {
  const used = {
    networks: new Set(services.flatMap(networksOf)),
    volumes: new Set(services.flatMap(({ layers }) => valuesAt(layers, 'volumes').flatMap(itemsOf).flatMap(volumeOf))),
  };
  return (['networks', 'volumes'] as const).flatMap((section) => {
    const roots = files.map(({ root }) => valueAt(root, section));
    return [...used[section]].flatMap((key) => {
      const layers = valuesAt(roots, key);
      const external = effectiveValue(layers, 'external');
      if (external === undefined || !isExternal(external)) return [];
      const written = valueAt(external, 'name') ?? effectiveValue(layers, 'name');
      const name = written === undefined ? key : resolve(textOf(written) ?? '');
      if (name === null || isId.test(name) || (names[section]?.has(name) ?? true)) return [];
      const kind = section.slice(0, -1);
      return fault(files, external, {
        text: `${kind} ${printable(key)}: external, and this host has no ${kind} ${printable(name)}`,
        cure: `make it (\`docker ${kind} create\`), or leave external out`,
      });
    });
  });
}

/** A text that compose may find a network by without its name. */
const isId = /^([0-9a-f]{12,})?$/;

function isExternal(external: ComposeNode): boolean {
  return external.kind === 'map' || isTrue.test(textOf(external) ?? '');
}

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
  /** Undefined where it is not known: then two generations side by side are not refused. */
  orchestrator: OrchestratorName | undefined;
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
  const notices = [...noticesOf({ start, written, heads, engine: means, images })];
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
  const refusals: Refusal[] = [];
  const settle = (refusal: Refusal | null, isRefused: boolean) => {
    if (refusal !== null && isRefused && !isApplied) refusals.push(refusal);
    else notices.unshift(...(refusal?.faults ?? []));
  };
  settle(faults.length === 0 ? null : refusalWith('COMPOSE_REFUSED', faults), engine !== null);
  if (orchestrator === 'swarm') return { refusals, notices };
  settle(startFirstRefusal(startFirstServices(start), imageVolumeFaults(start, images)), orchestrator === 'compose');
  return { refusals, notices: [...notices, ...startFirstNotices(start)] };
}

/** The service images that the host has and that an apply keeps. */
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
  const faults = [...copiedOwnerFaults(start, images, engine), ...imageVolumeFaults(start, images)];
  return { faults, notices: processorNotices(start, images, engine) };
}

/** Paths of the bundle's files that its services execute; a plan reads the start of these files. */
export function executedFiles(bundle: StartedBundle, paths: readonly string[]): string[] {
  const { start } = bundleToStart(bundle);
  const runs = executionsOf(start.services, { files: start.files, resolve: start.resolve, paths });
  const own = new Set(paths);
  return [...new Set(runs.map(({ path }) => path))].filter((path) => own.has(path));
}

/** The images whose users decide whether a service can start: images that the host has and that an apply keeps. */
export function imagesToRead(bundle: StartedBundle, images: EngineImages): string[] {
  const { start } = bundleToStart(bundle);
  return imagesWithNamedUsers(bundle, start.services, images);
}

/** How an apply replaces the services that it changes; a swarm does it by itself. */
export function replacementsOf(bundle: StartedBundle, changes: readonly Change[]): PlannedReplacement[] {
  if (bundle.project.files.length < bundle.manifest.compose.length) return [];
  const changed = changes.filter(({ change }) => change === 'changed' || change === 'unknown');
  return plannedReplacements(bundleToStart(bundle).start, changed);
}

/** The services that could be replaced start-first, although their compose file does not ask for it. */
export function candidatesOf(bundle: StartedBundle): string[] {
  return startFirstCandidates(bundleToStart(bundle).start);
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
