import { refusalWith, type Refusal, type RefusedFault } from '../../../../machines/refusals.ts';
import type { Manifest } from '../../../../machines/types.ts';
import { printable } from '../../../protocol/printable.ts';
import type { ComposeFile, ComposeNode } from '../compose/document/composeNode.ts';
import { activeServiceLayers, profilesOf } from '../compose/document/profiles.ts';
import { serviceDependenciesOf } from '../compose/document/serviceDependencies.ts';
import { serviceLayers } from '../compose/document/serviceLayers.ts';

/** Profiles that one cure names. */
const maxNames = 10;

/**
 * COMPOSE_REFUSED for a chosen profile that no service has, for a service that depends on one that does not run, and when no
 * service runs; or null. Nothing is said of a bundle whose compose files could not all be read.
 */
export function validateProfiles(
  files: readonly ComposeFile[],
  { compose, profiles }: Pick<Manifest, 'compose' | 'profiles'>,
): Refusal | null {
  if (files.length < compose.length) return null;
  const services = serviceLayers(files);
  const active = activeServiceLayers(files, profiles);
  const faults = [
    ...unknownProfiles(services, profiles),
    ...(services.size > 0 && active.size === 0 ? [nothingRuns(services)] : []),
    ...[...active].flatMap(([name, layers]) => missingDependencies(name, layers, { services, active })),
  ];
  return faults.length === 0 ? null : refusalWith('COMPOSE_REFUSED', faults);
}

type Services = ReadonlyMap<string, readonly ComposeNode[]>;

function unknownProfiles(services: Services, profiles: readonly string[]): RefusedFault[] {
  const known = allProfiles(services);
  const cure = known.length === 0 ? 'leave it out' : `leave it out, or name one of ${formatNames(known)}`;
  return profiles
    .filter((profile) => !known.includes(profile))
    .map((profile) => ({ text: `profiles names ${printable(profile)}, which no service has`, cure }));
}

function nothingRuns(services: Services): RefusedFault {
  return {
    text: 'no service runs: each has a profile, and none of these is chosen',
    cure: `name one in profiles of manifest.json: ${formatNames(allProfiles(services))}`,
  };
}

function missingDependencies(
  service: string,
  layers: readonly ComposeNode[],
  { services, active }: { services: Services; active: Services },
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

function allProfiles(services: Services): string[] {
  return [...new Set([...services.values()].flatMap(profilesOf))];
}

function formatNames(names: readonly string[]): string {
  const shown = names.slice(0, maxNames).map((name) => printable(name));
  return [...shown, ...(names.length > maxNames ? ['…'] : [])].join(', ');
}
