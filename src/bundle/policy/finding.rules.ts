import { type Refusal, refusalWith, type RefusedFault } from '../../../machines/refusals.ts';
import { printable } from '../../core/text.rules.ts';
import type { OpenedPaths } from '../compose/composeProject.rules.ts';
import type { ComposeNode } from '../compose/composeNode.rules.ts';
import type { Route } from '../compose/networks.rules.ts';
import type { MergedServices } from '../compose/services.rules.ts';
import {
  type EnginePolicyFacts,
  permitCure,
  permitEntry,
  type PolicyHost,
  type Privilege,
} from './policyHost.rules.ts';

const codes = ['COMPOSE_REFUSED', 'PRIVILEGED_REFUSED', 'HOST_NETWORK_REFUSED'] as const;

/** One fault of a compose file; `text` names its location, `cure` what to do about it. */
export interface Finding {
  code: (typeof codes)[number];
  text: string;
  cure: string;
  privilege?: Privilege;
  /** A path of the host that is mounted in a form that no permit grants. */
  hostPath?: string;
  /** Refused because `policy.images` of the host requires digests. */
  isUnpinned?: true;
  /** The finding in its place if the same content is already applied on the host, which is then only a warning. */
  whenApplied?: Finding[];
}

/** The fault of a value, and its cure. */
export interface Problem {
  readonly message: string;
  readonly cure: string;
}

/** Facts that the policy uses in addition to the compose file. */
export interface PolicyFacts extends Partial<EnginePolicyFacts> {
  /** Paths of the bundle's files and directories, relative to its root. */
  readonly releaseFiles: ReadonlySet<string>;
  /** The directories among them. */
  readonly directories: ReadonlySet<string>;
  readonly projectName: string;
  /** Paths of the compose files themselves. */
  readonly composeFiles: readonly string[];
  /** For all compose files of the bundle. */
  readonly openedPaths: OpenedPaths;
  /** Keys of the volumes that all compose files of the bundle mount for reading alone. */
  readonly readOnlyVolumes: ReadonlySet<string>;
  /** Mounts of the compose files that no service has. */
  readonly replacedMounts: ReadonlySet<ComposeNode>;
  /** Files of the bundle that are configs and secrets of all compose files, by `configs NAME` or `secrets NAME`. */
  readonly mountedContents: ReadonlyMap<string, string>;
  /** The services that each mapping of a service becomes a part of. */
  readonly mergedServices: MergedServices;
  /** Set for compose's rendered model of the files in `dir`: its paths are absolute and its values may be secret. */
  readonly rendered?: { readonly dir: string };
  /** The host's routes; absent when the bundle is validated without a host. */
  readonly routes?: readonly Route[];
  readonly host: PolicyHost;
  /** The files of the bundle that are executable; absent where nobody looked. */
  readonly executables?: ReadonlySet<string>;
  /** Bytes of the bundle's files; absent where nobody asks. */
  readonly fileSizes?: ReadonlyMap<string, number>;
  /** Texts of the bundle's env files and label files by path. A file that is missing here is refused. */
  readonly texts?: ReadonlyMap<string, string>;
}

/** Where a value is: its file, its owner (`service web`) and its key path (`deploy.replicas`). */
export interface ValueLocation {
  readonly facts: PolicyFacts;
  readonly file: string;
  readonly owner: string;
  readonly keyPath: string;
}

/** Validates one value; an empty list means that the value is allowed. */
export type Validator = (value: ComposeNode, location: ValueLocation) => Finding[];

/** A fault that is refused whatever flags the bundle has. */
export function refuse(value: ComposeNode, location: ValueLocation, { message, cure }: Problem): Finding[] {
  return [{ code: 'COMPOSE_REFUSED', text: describe(value, location, message), cure }];
}

/** A value that is refused whatever it is, or for its length. The message must not quote it. */
export function refuseWithoutValue(value: ComposeNode, location: ValueLocation, { message, cure }: Problem): Finding[] {
  return [{ code: 'COMPOSE_REFUSED', text: describeWithoutValue(value, location, message), cure }];
}

/** A privilege on the host. The message names what is affected and must not quote the value. */
export function refusePrivilegeOver(value: ComposeNode, location: ValueLocation, message: string): Finding[] {
  const text = describeWithoutValue(value, location, message);
  return [{ code: 'PRIVILEGED_REFUSED', text, cure: `leave it out, or ${flagCure}` }];
}

/** A privilege on the host, which only `allow_privileged` grants. */
export function refusePrivilege(value: ComposeNode, location: ValueLocation, problem: string | Problem): Finding[] {
  const { message, cure } = problemOf(problem, `leave it out, or ${flagCure}`);
  return [{ code: 'PRIVILEGED_REFUSED', text: describe(value, location, message), cure }];
}

/** A variable where a privilege could be written. */
export function refuseVariable(value: ComposeNode, location: ValueLocation, message: string): Finding[] {
  return refusePrivilege(value, location, { message, cure: `write it out, or ${flagCure}` });
}

/** A privilege over the host, which `allow_privileged` or a permit of the host grants. */
export function refuseUnpermitted(
  value: ComposeNode,
  location: ValueLocation,
  asked: Privilege & { message: string },
): Finding[] {
  const { message, ...privilege } = asked;
  const code = privilege.permit === 'host_network' ? 'HOST_NETWORK_REFUSED' : 'PRIVILEGED_REFUSED';
  const cure = location.facts.rendered
    ? permitCure(privilege.permit)
    : permitCure(privilege.permit, permitEntry(privilege));
  const service = location.owner.startsWith('service ') ? { service: serviceOf(location) } : {};
  return [{ code, text: describe(value, location, message), cure, privilege: { ...privilege, ...service } }];
}

/** The host's network, in a form that no permit grants. */
export function refuseHostNetwork(value: ComposeNode, location: ValueLocation, message: string): Finding[] {
  const cure = 'write network_mode: host, which a host can permit';
  return [{ code: 'HOST_NETWORK_REFUSED', text: describe(value, location, message), cure }];
}

/** The service that a value belongs to, as in the compose file. */
export function serviceOf({ owner }: ValueLocation): string {
  return owner.replace(/^service /, '');
}

const flagCure = 'set agent.allow_privileged in manifest.json';

function problemOf(problem: string | Problem, cure: string): Problem {
  return typeof problem === 'string' ? { message: problem, cure } : problem;
}

/** Findings listed in one refusal; the rest are only counted. */
const maxListedFindings = 200;

/** One refusal for each code that occurs; its detail lists every distinct finding. */
export function refusalsOf(findings: readonly Finding[]): Refusal[] {
  const occurring = [...new Set(findings.map(({ code }) => code))];
  const inOrder = occurring.sort((one, other) => codes.indexOf(one) - codes.indexOf(other));
  return inOrder.map((code) => {
    const faults = faultsOf(findings.filter((finding) => finding.code === code));
    const unlisted = faults.length - maxListedFindings;
    const more = unlisted > 0 ? [{ text: `and ${unlisted} more`, cure: 'correct these first' }] : [];
    const listed = [...faults.slice(0, maxListedFindings), ...more];
    return refusalWith(code, listed);
  });
}

/** Every distinct fault with its cure. */
export function faultsOf(findings: readonly Finding[]): RefusedFault[] {
  const faults = findings.map(({ text, cure }) => ({ text, cure }));
  return [...new Map(faults.map((fault) => [fault.text, fault])).values()];
}

function describe(value: ComposeNode, { facts, owner, keyPath, file }: ValueLocation, message: string): string {
  if (facts.rendered) return `${printable(owner)}: ${printable(topLevelKey(keyPath))}, as compose renders it`;
  return `${printable(owner)}: ${[keyPath, message].filter(Boolean).map(printable).join(' ')} (${printable(file)}:${value.line})`;
}

function describeWithoutValue(value: ComposeNode, location: ValueLocation, message: string): string {
  const { facts, owner, keyPath } = location;
  return facts.rendered
    ? `${printable(owner)}: ${printable(topLevelKey(keyPath))} ${message}, as compose renders it`
    : describe(value, location, message);
}

/** Keys below the top one may come from the value of a secret, so they are left out. */
function topLevelKey(keyPath: string): string {
  return keyPath.split('.', 1)[0] ?? keyPath;
}
