import type { RefusedFault } from '../../../../machines/refusals.ts';
import type { ComposeFile, ComposeNode } from '../compose/document/composeNode.ts';
import type { TakenPort } from '../network/takenPorts.ts';
import { placeOf, type ReadService, type ResolveText } from './writtenText.ts';

/** The names of users and groups that an image knows. */
export interface ImageAccounts {
  users: ReadonlySet<string>;
  groups: ReadonlySet<string>;
}

/** What an engine can do, and what of the host others use already. */
export interface EngineMeans {
  isPodman: boolean;
  /** Of Docker's API, such as `1.51`; '' when it is not known. */
  apiVersion: string;
  /** 0 when it is not known. */
  cpus: number;
  /** 0 when it is not known. */
  memoryBytes: number;
  /** In the words of the kernel, `x86_64`; null when it is not known. */
  architecture: string | null;
  /** Whether the engine's settings name addresses of IPv6 for networks without a subnet. */
  hasIpv6Pool: boolean;
  /** The networks that do not belong to the project, with their subnets. */
  networks: readonly { name: string; subnets: readonly string[] }[];
  /** Engine names of all networks and volumes, those of the project too; null where more may be there than the engine lists. */
  names: { networks: ReadonlySet<string> | null; volumes: ReadonlySet<string> };
  /** The ports that containers outside the project and programs of the host use. */
  takenPorts: readonly TakenPort[];
  /** The users of images, by reference, where they decide whether a service starts; absent where nobody asks. */
  accounts?: ReadonlyMap<string, ImageAccounts>;
}

/** A bundle as its host will read it. */
export interface BundleToStart {
  files: readonly ComposeFile[];
  /** Those that have containers, without the replicas of none. */
  services: readonly ReadService[];
  /** Names of services that end, so that what they use is free again. */
  jobs: ReadonlySet<string>;
  resolve: ResolveText;
}

export const isTrue = /^(true|yes|on|y)$/i;

export function fault(
  files: readonly ComposeFile[],
  node: ComposeNode | undefined,
  { text, cure }: RefusedFault,
): RefusedFault[] {
  return [{ text: `${text}${placeOf(files, node)}`, cure }];
}
