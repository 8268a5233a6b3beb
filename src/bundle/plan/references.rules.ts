import { type Refusal, refusalWith, type RefusedFault } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { printable } from '../../core/text.rules.ts';
import {
  type ComposeFile,
  type ComposeNode,
  entriesOf,
  itemsOf,
  textOf,
  valueAt,
  valuesAt,
} from '../compose/composeNode.rules.ts';
import { profilesOf, serviceDependenciesOf, type ServiceLayers, visitGraph } from '../compose/services.rules.ts';
import { namePattern } from '../policy/validators.rules.ts';
import type { ComposeProject } from '../compose/composeProject.rules.ts';

/**
 * COMPOSE_REFUSED for faults that compose refuses when it loads the files, or null. These are a running service that
 * names a service, network, volume, config or secret that the bundle does not have, and services that depend on each
 * other in a circle. A bundle whose compose files could not all be read is not checked, nor are invalid names, which
 * the policy refuses.
 */
export function validateReferences(
  { files, services, active }: ComposeProject,
  { compose }: Pick<Manifest, 'compose'>,
): Refusal | null {
  if (files.length < compose.length) return null;
  const faults = [
    ...[...active].flatMap(([name, layers]) => [
      ...missingServices(name, layers, services),
      ...sections.flatMap((section) => missingParts(name, layers, { section, files })),
    ]),
    ...circles(active),
  ];
  return faults.length === 0 ? null : refusalWith('COMPOSE_REFUSED', faults);
}

function missingServices(service: string, layers: readonly ComposeNode[], services: ServiceLayers): RefusedFault[] {
  return serviceDependenciesOf(layers)
    .filter(({ name }) => namePattern.test(name) && !services.has(name))
    .map(({ key, name }) => ({
      text: `service ${printable(service)}: ${key} ${printable(name)}, which is not a service of the bundle`,
      cure: 'add that service, or name another one',
    }));
}

const sections = ['networks', 'volumes', 'configs', 'secrets'] as const;
type Section = (typeof sections)[number];

function missingParts(
  service: string,
  layers: readonly ComposeNode[],
  { section, files }: { section: Section; files: readonly ComposeFile[] },
): RefusedFault[] {
  const defined = new Set(files.flatMap(({ root }) => entriesOf(valueAt(root, section)).map(([name]) => name)));
  const named = valuesAt(layers, section).flatMap(namesIn[section]);
  return [...new Set(named)]
    .filter((name) => !defined.has(name) && namePattern.test(name))
    .map((name) => ({
      text: `service ${printable(service)}: ${section} ${printable(name)}, which is not under the top-level ${section}`,
      cure: `write ${printable(name)} under the top-level ${section}`,
    }));
}

/** The names that a service's value under a key refers to. */
const namesIn: Readonly<Record<Section, (value: ComposeNode) => string[]>> = {
  // every project has the network `default`
  networks: (value) => [...keysOf(value), ...sourcesOf(value)].filter((name) => name !== 'default'),
  volumes: (value) => itemsOf(value).flatMap(volumeOf),
  configs: (value) => sourcesOf(value),
  secrets: (value) => sourcesOf(value),
};

function keysOf(value: ComposeNode): string[] {
  return entriesOf(value).map(([name]) => name);
}

function sourcesOf(value: ComposeNode): string[] {
  return value.kind === 'list' ? value.items.flatMap((item) => textOf(valueAt(item, 'source') ?? item) ?? []) : [];
}

/** The key of the volume that an entry of `volumes` mounts, in its short or long form; none for anything else. */
export function volumeOf(mount: ComposeNode): string[] {
  const short = /^(\w[\w.-]+):/.exec(textOf(mount) ?? '')?.[1];
  const long = textOf(valueAt(mount, 'type')) === 'volume' ? textOf(valueAt(mount, 'source')) : null;
  return [short ?? long ?? []].flat();
}

function circles(services: ServiceLayers): RefusedFault[] {
  const dependencies = [...services].map(([name, layers]): [string, string[]] => [
    name,
    serviceDependenciesOf(layers).map((each) => each.name),
  ]);
  const { circle } = visitGraph(new Map(dependencies));
  if (circle === null) return [];
  const text = `services depend on each other in a circle: ${formatNames(circle)}`;
  return [{ text, cure: 'leave one of these dependencies out' }];
}

/** Names that one text has. */
const maxNames = 10;

/**
 * COMPOSE_REFUSED for a chosen profile that no service has, for a service that depends on one that does not run, and when no
 * service runs; or null. Nothing is said of a bundle whose compose files could not all be read.
 */
export function validateProfiles(
  { files, services, active, profiles }: ComposeProject,
  { compose }: Pick<Manifest, 'compose'>,
): Refusal | null {
  if (files.length < compose.length) return null;
  const faults = [
    ...unknownProfiles(services, profiles),
    ...(services.size > 0 && active.size === 0 ? [nothingRuns(services)] : []),
    ...[...active].flatMap(([name, layers]) => missingDependencies(name, layers, { services, active })),
  ];
  return faults.length === 0 ? null : refusalWith('COMPOSE_REFUSED', faults);
}

function unknownProfiles(services: ServiceLayers, profiles: readonly string[]): RefusedFault[] {
  const known = allProfiles(services);
  const cure = known.length === 0 ? 'leave it out' : `leave it out, or name one of ${formatNames(known)}`;
  return profiles
    .filter((profile) => !known.includes(profile))
    .map((profile) => ({ text: `profiles names ${printable(profile)}, which no service has`, cure }));
}

function nothingRuns(services: ServiceLayers): RefusedFault {
  return {
    text: 'no service runs: each has a profile, and none of these is chosen',
    cure: `name one in profiles of manifest.json: ${formatNames(allProfiles(services))}`,
  };
}

function missingDependencies(
  service: string,
  layers: readonly ComposeNode[],
  { services, active }: { services: ServiceLayers; active: ServiceLayers },
): RefusedFault[] {
  return serviceDependenciesOf(layers).flatMap(({ key, name, required }) => {
    const missing = services.get(name);
    if (missing === undefined || active.has(name) || !required) return [];
    return {
      text: `service ${printable(service)}: ${key} ${printable(name)}, which does not run: none of its profiles is chosen`,
      cure: `name one of them in profiles of manifest.json: ${formatNames(profilesOf(missing))}`,
    };
  });
}

function allProfiles(services: ServiceLayers): string[] {
  return [...new Set([...services.values()].flatMap(profilesOf))];
}

function formatNames(names: readonly string[]): string {
  const shown = names.slice(0, maxNames).map((name) => printable(name));
  return [...shown, ...(names.length > maxNames ? ['…'] : [])].join(', ');
}

/** SECRET_PATH_REFUSED with every path outside the env's branch of the secretstore, or null (spec §9). */
export function validateSecretPaths({ env, secrets }: Manifest): Refusal | null {
  const branch = `deployd/data/${env}/see/`;
  const faults = secrets.flatMap((secret) => {
    const fault = secret.path.startsWith(branch) ? pathFault(secret.path.slice(branch.length)) : 'leads elsewhere';
    const text = `${secret.var}: ${printable(secret.path)} ${fault}`;
    return fault === null ? [] : [{ text, cure: `write a path below ${branch}` }];
  });
  return faults.length === 0 ? null : refusalWith('SECRET_PATH_REFUSED', faults);
}

/** Allows only characters that need no escaping in a URL and that no proxy or server interprets. */
function pathFault(path: string): string | null {
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'has an empty, "." or ".." part';
  return /^[A-Za-z0-9._~@+=:,/-]+$/.test(path) ? null : 'has a character other than letters, digits and ._~@+=:,-';
}
