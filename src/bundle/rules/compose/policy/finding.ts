import type { Refusal } from '../../../../../machines/refusals.ts';
import { printable } from '../../../../protocol/printable.ts';
import type { Route } from '../../network/hostRoutes.ts';
import type { OpenedPaths } from '../document/composeContents.ts';
import type { ComposeNode } from '../document/composeNode.ts';

const codes = ['COMPOSE_REFUSED', 'PRIVILEGED_REFUSED', 'HOST_NETWORK_REFUSED'] as const;

/** One fault of a compose file; `text` names its location. */
export interface Finding {
  code: (typeof codes)[number];
  text: string;
}

/** Facts that the policy uses besides the compose file. */
export interface PolicyFacts {
  /** Paths of the bundle's files and directories, relative to its root. */
  readonly releaseFiles: ReadonlySet<string>;
  /** The directories among them. */
  readonly directories: ReadonlySet<string>;
  readonly projectName: string;
  /** Paths of the compose files themselves. */
  readonly composeFiles: readonly string[];
  /** Of all compose files of the bundle. */
  readonly openedPaths: OpenedPaths;
  /** Set for compose's rendered model of the files in `dir`: its paths are absolute and its values may be secret. */
  readonly rendered?: { readonly dir: string };
  /** The host's routes; absent when the bundle is validated without a host. */
  readonly routes?: readonly Route[];
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
export function refuse(value: ComposeNode, location: ValueLocation, message: string): Finding[] {
  return [{ code: 'COMPOSE_REFUSED', text: describe(value, location, message) }];
}

/** A value over a limit. `message` names the limit and must not quote the value. */
export function refuseOverLimit(value: ComposeNode, location: ValueLocation, message: string): Finding[] {
  return [{ code: 'COMPOSE_REFUSED', text: describeWithoutValue(value, location, message) }];
}

/** A privilege on the host. `message` names what is affected and must not quote the value. */
export function refusePrivilegeOver(value: ComposeNode, location: ValueLocation, message: string): Finding[] {
  return [{ code: 'PRIVILEGED_REFUSED', text: describeWithoutValue(value, location, message) }];
}

/** A privilege on the host, which `allow_privileged` grants. */
export function refusePrivilege(value: ComposeNode, location: ValueLocation, message: string): Finding[] {
  return [{ code: 'PRIVILEGED_REFUSED', text: describe(value, location, message) }];
}

/** The host's network, which `allow_privileged` grants. */
export function refuseHostNetwork(value: ComposeNode, location: ValueLocation): Finding[] {
  return [{ code: 'HOST_NETWORK_REFUSED', text: describe(value, location, 'host') }];
}

/** Findings listed in one refusal; the rest are only counted. */
const maxListedFindings = 200;

/** One refusal for each code that occurs; its detail lists every distinct finding. */
export function refusalsOf(findings: readonly Finding[]): Refusal[] {
  const occurring = [...new Set(findings.map(({ code }) => code))];
  const inOrder = occurring.sort((one, other) => codes.indexOf(one) - codes.indexOf(other));
  return inOrder.map((code) => {
    const texts = [...new Set(findings.filter((finding) => finding.code === code).map(({ text }) => text))];
    const more = texts.length > maxListedFindings ? [`and ${texts.length - maxListedFindings} more`] : [];
    return { code, detail: [...texts.slice(0, maxListedFindings), ...more].join('; ') };
  });
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
