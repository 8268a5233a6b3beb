import type { Refusal } from '../../../../machines/words.ts';
import { printable } from '../../../protocol/printable.ts';
import type { Route } from '../network/hostRoutes.ts';
import type { Tree } from './tree.ts';

const codes = ['COMPOSE_REFUSED', 'PRIVILEGED_REFUSED', 'HOST_NETWORK_REFUSED'] as const;

/** One fault of a compose file, told with the place where it stands. */
export interface Finding {
  code: (typeof codes)[number];
  text: string;
}

/** What the policy may know besides the compose file. */
export interface Facts {
  /** Paths of the bundle's files and directories, relative to its root. */
  readonly releaseFiles: ReadonlySet<string>;
  /** Those that hold others. */
  readonly directories: ReadonlySet<string>;
  readonly projectName: string;
  /** Paths of the compose files themselves. */
  readonly composeFiles?: readonly string[];
  readonly opened?: Opened;
  /** Set when what is judged is compose's rendered model of the files in `dir`: paths are absolute, values may be secret. */
  readonly rendered?: { readonly dir: string };
  /** What the host reaches by which device; left out where no host is known. */
  readonly routes?: readonly Route[];
  /** Texts of the bundle's env files and label files by path; one that is not here is refused, because it cannot be judged. */
  readonly texts?: ReadonlyMap<string, string>;
}

/** Paths of the bundle that are opened by name. */
export interface Opened {
  /** By anybody, the engine for a container among them. */
  readonly all: readonly string[];
  /** Of them the env files and label files, whose texts say what containers get and are. */
  readonly byCompose: readonly string[];
}

/** Where a value stands: the file, whose it is (`service web`) and under which key. */
export interface Place {
  readonly facts: Facts;
  readonly file: string;
  readonly where: string;
  readonly key: string;
}

/** Judges one value; an empty answer means that it may stand. */
export type Judge = (value: Tree, place: Place) => Finding[];

/** A fault that no flag of the bundle lifts. */
export function refuse(value: Tree, place: Place, what: string): Finding[] {
  return [{ code: 'COMPOSE_REFUSED', text: told(value, place, what) }];
}

/** More than a bound allows; `what` names the bound and nothing of the value. */
export function beyond(value: Tree, place: Place, what: string): Finding[] {
  return [{ code: 'COMPOSE_REFUSED', text: toldOpenly(value, place, what) }];
}

/** Power over the host, told by what it is power over; `what` names nothing of the value. */
export function powerOver(value: Tree, place: Place, what: string): Finding[] {
  return [{ code: 'PRIVILEGED_REFUSED', text: toldOpenly(value, place, what) }];
}

/** Power over the host, which `allow_privileged` grants. */
export function power(value: Tree, place: Place, what: string): Finding[] {
  return [{ code: 'PRIVILEGED_REFUSED', text: told(value, place, what) }];
}

/** The host's network, which `allow_privileged` grants. */
export function hostNetwork(value: Tree, place: Place): Finding[] {
  return [{ code: 'HOST_NETWORK_REFUSED', text: told(value, place, 'host') }];
}

/** More faults than a person reads; the rest is counted. */
const toldFaults = 200;

/** One refusal for each code that occurs, every different fault in its detail. */
export function refusalsOf(findings: readonly Finding[]): Refusal[] {
  return codes.flatMap((code) => {
    const texts = [...new Set(findings.filter((finding) => finding.code === code).map(({ text }) => text))];
    const more = texts.length > toldFaults ? [`and ${texts.length - toldFaults} more`] : [];
    return texts.length === 0 ? [] : [{ code, detail: [...texts.slice(0, toldFaults), ...more].join('; ') }];
  });
}

function told(value: Tree, { facts, where, key, file }: Place, what: string): string {
  if (facts.rendered) return `${printable(where)}: ${printable(topOf(key))}, as compose renders it`;
  return `${printable(where)}: ${[key, what].filter(Boolean).map(printable).join(' ')} (${printable(file)}:${value.line})`;
}

function toldOpenly(value: Tree, place: Place, what: string): string {
  const { facts, where, key } = place;
  return facts.rendered
    ? `${printable(where)}: ${printable(topOf(key))} ${what}, as compose renders it`
    : told(value, place, what);
}

/** What stands below a key of the policy may come from the value of a secret. */
function topOf(key: string): string {
  return key.split('.', 1)[0] ?? '';
}
