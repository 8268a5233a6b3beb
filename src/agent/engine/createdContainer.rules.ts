import type { EngineHealthcheck } from '../../bundle/plan/writtenServices.rules.ts';
import type { RecordedVolume } from './resources.rules.ts';

/**
 * The fields used from the engine's inspection of a container. The inspection also holds its environment, so it is
 * secret.
 */
export interface CreatedContainer {
  Id: string;
  Name: string;
  Image: string;
  Created?: string;
  State: { Status: string; StartedAt?: string; Health?: { Status: string } | null };
  Config: { Labels: Record<string, string> | null; Healthcheck?: EngineHealthcheck | null };
  HostConfig: Partial<{
    Privileged: boolean;
    CapAdd: string[] | null;
    CapDrop: string[] | null;
    Devices: { PathOnHost: string; PathInContainer: string; CgroupPermissions: string }[] | null;
    DeviceRequests: unknown[] | null;
    DeviceCgroupRules: string[] | null;
    SecurityOpt: string[] | null;
    MaskedPaths: string[] | null;
    GroupAdd: string[] | null;
    Sysctls: Record<string, string> | null;
    Runtime: string;
    NetworkMode: string;
    PidMode: string;
    IpcMode: string;
    UTSMode: string;
    UsernsMode: string;
    CgroupnsMode: string;
    CgroupParent: string;
    Links: string[] | null;
    OomKillDisable: boolean | null;
    OomScoreAdj: number;
    Mounts: { Target: string; VolumeOptions?: { Subpath?: string } }[] | null;
  }>;
  Mounts: CreatedMount[] | null;
  NetworkSettings: { Networks: Record<string, { Links?: string[] | null; NetworkID?: string } | null> | null };
}

export interface CreatedMount {
  Type: string;
  Name?: string;
  Source: string;
  Destination: string;
  Driver?: string;
  RW: boolean;
  Propagation?: string;
}

/** A network or volume of the engine. */
export interface CreatedResource {
  name: string;
  driver: string;
  options: Readonly<Record<string, string>>;
}

/** A volume of the engine; it is the project's own if it has the project's label. */
export interface CreatedVolume extends CreatedResource, Partial<Omit<RecordedVolume, 'name'>> {
  isOwn: boolean;
}

/** A network of the project. */
export interface CreatedNetwork extends CreatedResource {
  id: string;
  internal: boolean;
}

/** All resources of one compose project on the engine. */
export interface CreatedResources {
  containers: CreatedContainer[];
  volumes: CreatedVolume[];
  networks: CreatedNetwork[];
  isPodman: boolean;
}

/** The compose service of a container. */
export function serviceOf({ Config }: CreatedContainer): string {
  return Config.Labels?.['com.docker.compose.service'] ?? '';
}

/** A container's name without the engine's leading slash. */
export function containerName({ Name }: CreatedContainer): string {
  return Name.replace(/^\//, '');
}

/** Whether the engine created the volume without a name, for this container or for its predecessor. */
export function isAnonymousVolume({ Type, Name }: CreatedMount, volumes: readonly CreatedVolume[]): boolean {
  if (Type !== 'volume' || !/^[0-9a-f]{64}$/.test(Name ?? '')) return false;
  const volume = volumes.find(({ name }) => name === Name);
  return volume?.driver === 'local' && Object.keys(volume.options).length === 0;
}

/** The anonymous volumes of a container and their mount targets. */
export function anonymousVolumesOf(
  { Mounts }: CreatedContainer,
  volumes: readonly CreatedVolume[],
): { name: string; target: string }[] {
  const own = (Mounts ?? []).filter((mount) => isAnonymousVolume(mount, volumes));
  return own.map(({ Name = '', Destination }) => ({ name: Name, target: Destination }));
}

/** Service and container number: of two containers with the same slot compose keeps one. */
export function replicaSlotOf(container: CreatedContainer): string {
  return `${serviceOf(container)} ${container.Config.Labels?.['com.docker.compose.container-number'] ?? ''}`;
}

/** Driver and options of a network or volume as facts (see `Allowance`). */
export function resourceFactsOf(part: CreatedNetwork | CreatedResource): string[] {
  const options = Object.entries(part.options).map(([name, value]) => `option ${name}=${value}`);
  const isOpen = 'internal' in part && !part.internal;
  return [`driver ${part.driver}`, ...options, ...(isOpen ? ['outside'] : [])];
}

/** True for a propagation that the engine does not distinguish from its default. */
export function isPrivatePropagation(propagation: string): boolean {
  return ['', 'private', 'rprivate'].includes(propagation);
}

/** A path in the engine's form, without `.`, `..` and empty parts. */
export function normalizePath(path: string): string {
  if (!path.startsWith('/')) return path;
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** Parts of the option `o` that Podman takes itself. */
const podmanParts = /^(size|inodes|uid|gid)=/i;

/**
 * The options of a volume as they were given. Podman repeats parts of `o` as separate options, such as `UID` for
 * `uid=…`.
 */
export function givenVolumeOptions(options: Readonly<Record<string, string>> | null): Record<string, string> {
  const parts = (options?.['o'] ?? '').split(',').filter((part) => podmanParts.test(part));
  const repeated = new Set(parts.map((part) => part.replace(/^[^=]*/, (name) => name.toUpperCase())));
  const isGiven = ([name, value]: [string, string]) => !repeated.has(`${name}=${value}`);
  return Object.fromEntries(Object.entries(options ?? {}).filter(isGiven));
}
