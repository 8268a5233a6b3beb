import type { RefusedFault } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { printable } from '../../core/text.rules.ts';
import { type ComposeFile, type ComposeNode, textOf } from '../compose/composeNode.rules.ts';
import type { TakenPort } from '../compose/networks.rules.ts';
import { effectiveValue } from '../compose/services.rules.ts';
import { interpolate, type TextPart, textParts, variablesOf } from '../compose/variables.rules.ts';

/** Reads a text of a compose file as compose will; null where a secret or the agent decides what it is. */
export type ResolveText = (text: string) => string | null;

/** Fills in the variables of a manifest, and the defaults of those that nobody supplies. */
export function resolveWith({ variables, secrets }: Pick<Manifest, 'variables' | 'secrets'>): ResolveText {
  const isDecidedLater = (name: string) =>
    name.startsWith('DEPLOYD_') || secrets.some((secret) => secret.var === name && !Object.hasOwn(variables, name));
  return (text) => {
    if (!text.includes('$')) return text;
    const { uses, error } = variablesOf(text);
    const missing = uses.map(({ name }) => name).filter((name) => !Object.hasOwn(variables, name));
    if (error !== undefined || missing.some(isDecidedLater) || !textParts(text).every(hasDefault(variables)))
      return null;
    const filled = interpolate(text, { ...Object.fromEntries(missing.map((name) => [name, ''])), ...variables });
    return filled === null || filled.includes('$') ? null : filled;
  };
}

/** Whether what a part becomes is the same for a variable that is empty and for one that is missing. */
function hasDefault(variables: Readonly<Record<string, string>>): (part: TextPart) => boolean {
  return (part) =>
    part === null ||
    typeof part === 'string' ||
    ((Object.hasOwn(variables, part.name) || /^:[-+]$/.test(part.operator)) &&
      textParts(part.inner).every(hasDefault(variables)));
}

/** A service of a bundle with the values that take effect. */
export interface ReadService {
  name: string;
  layers: readonly ComposeNode[];
  /** The value under a chain of keys; undefined when it is missing. */
  node: (...keys: string[]) => ComposeNode | undefined;
  /** Its text; '' when it is missing or not known yet. */
  text: (...keys: string[]) => string;
}

/** The services of layers, with the texts that `resolve` gives. */
export function readServices(
  services: ReadonlyMap<string, readonly ComposeNode[]>,
  resolve: ResolveText,
): ReadService[] {
  return [...services].map(([name, layers]) => {
    const node = (...keys: string[]) => effectiveValue(layers, ...keys);
    return { name, layers, node, text: (...keys) => resolve(textOf(node(...keys)) ?? '') ?? '' };
  });
}

/** Where a value is written: ` (compose.yaml:5)`; '' for one of no file. */
export function placeOf(files: readonly ComposeFile[], node: ComposeNode | undefined): string {
  if (node === undefined) return '';
  const file = files.find(({ root }) => isBelow(root, node));
  return file === undefined ? '' : ` (${printable(file.path)}:${node.line})`;
}

function isBelow(root: ComposeNode, node: ComposeNode): boolean {
  if (root === node) return true;
  if (root.kind === 'scalar') return false;
  return [...(root.kind === 'list' ? root.items : root.entries.values())].some((inner) => isBelow(inner, node));
}

/** The names of users and groups that an image knows. */
export interface ImageAccounts {
  users: ReadonlySet<string>;
  groups: ReadonlySet<string>;
}

/** The abilities of an engine, and the resources of the host that others use. */
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
  /** Engine names of all networks and volumes, including the project's; null if there may be more than the engine lists. */
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
