import type { NamesOutside } from '../../bundle/policy/policyHost.rules.ts';
import { factsOf } from '../engine/resources.rules.ts';
import {
  contestedNamesOf,
  engineNameOf,
  listOf,
  modelMountsOf,
  type ModelObject,
  objectOf,
  textOf,
} from './model.rules.ts';
import { type Allowance, serviceAllowance } from './privileges.rules.ts';

/** The privileges that the rendered model of a release grants. */
export interface GrantedPrivileges {
  schema: 1;
  services: Record<string, Allowance>;
  /** By engine name; null for external ones. */
  networks: Record<string, Allowance | null>;
  volumes: Record<string, Allowance | null>;
  /** Configurations of the networks that are not external. Absent in files of older versions. */
  definitions?: NetworkDefinitions;
}

/**
 * The grants of a rendered model (`compose config --format json`) with its files in `dir`. They may contain secrets:
 * see `hideSecrets`. If the names outside the project are given, networks and volumes with other names must belong to
 * the project.
 */
export function grantedPrivilegesOf(
  model: unknown,
  dir: string,
  outside: NamesOutside | null = null,
): GrantedPrivileges {
  const root = objectOf(model);
  const services = objectOf(root['services']);
  const sources = { root, services, dir };
  const contested = contestedNamesOf(root, outside);
  const allowances = (parts: unknown, allow: (part: ModelObject) => Allowance | null) =>
    Object.fromEntries(
      Object.entries(objectOf(parts)).map(([key, part]) => [engineNameOf(root, key, part), allow(objectOf(part))]),
    );
  return {
    schema: 1,
    services: Object.fromEntries(
      Object.keys(services).map((name) => [
        name,
        serviceAllowance({ service: objectOf(services[name]), mounts: modelMountsOf(name, sources), root, contested }),
      ]),
    ),
    networks: allowances(root['networks'], networkAllowance),
    volumes: allowances(root['volumes'], volumeAllowance),
    definitions: networkDefinitionsOf(root),
  };
}

/** A copy with each fact and each engine name passed through `seal`, which hides those that contain a secret. */
export function hideSecrets(
  { services, networks, volumes, definitions }: GrantedPrivileges,
  seal: (text: string) => string,
): GrantedPrivileges {
  const hide = ({ may, must }: Allowance) => ({ may: may.map(seal), must: must.map(seal) });
  const hideResources = (parts: GrantedPrivileges['networks']) =>
    Object.fromEntries(Object.entries(parts).map(([name, part]) => [seal(name), part && hide(part)]));
  return {
    schema: 1,
    services: Object.fromEntries(Object.entries(services).map(([name, part]) => [name, hide(part)])),
    networks: hideResources(networks),
    volumes: hideResources(volumes),
    ...(definitions && {
      definitions: Object.fromEntries(
        Object.entries(definitions).map(([name, facts]) => [seal(name), facts.map((fact) => seal(fact))]),
      ),
    }),
  };
}

/** Parses stored grants; null when the text is invalid. */
export function parseGrantedPrivileges(text: string): GrantedPrivileges | null {
  const isAllowance = (part: unknown) => [objectOf(part)['may'], objectOf(part)['must']].every(isStringArray);
  try {
    const value = JSON.parse(text) as GrantedPrivileges;
    const { services, networks, volumes, definitions = {} } = value;
    const resources = [networks, volumes].flatMap((parts) => Object.values(parts)).filter((part) => part !== null);
    return objectOf(value)['schema'] === 1 &&
      [...Object.values(services), ...resources].every(isAllowance) &&
      Object.values(definitions).every(isStringArray)
      ? value
      : null;
  } catch {
    return null;
  }
}

/** The configurations of the networks in a rendered model, by engine name. */
export function networkDefinitionsOf(model: unknown): NetworkDefinitions {
  const root = objectOf(model);
  const defined = Object.entries(objectOf(root['networks'])).filter(([, part]) => objectOf(part)['external'] !== true);
  return Object.fromEntries(
    defined.map(([key, part]) => [engineNameOf(root, key, part), networkDefinitionOf(objectOf(part))]),
  );
}

function networkAllowance(network: ModelObject): Allowance | null {
  if (network['external'] === true) return null;
  return {
    may: [
      `driver ${textOf(network['driver']) || 'bridge'}`,
      ...optionFactsOf(network),
      ...(network['internal'] === true ? [] : ['outside']),
    ],
    must: [],
  };
}

function volumeAllowance(volume: ModelObject): Allowance | null {
  if (volume['external'] === true) return null;
  return { may: [`driver ${textOf(volume['driver']) || 'local'}`, ...optionFactsOf(volume)], must: [] };
}

function optionFactsOf(part: ModelObject): string[] {
  return Object.entries(objectOf(part['driver_opts'])).map(([name, value]) => `option ${name}=${textOf(value)}`);
}

function isStringArray(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

/** Configurations of networks as facts, by engine name. External networks have none. */
export type NetworkDefinitions = Readonly<Record<string, readonly string[]>>;

/** The configuration of a network in a rendered model. */
export function networkDefinitionOf(network: ModelObject): string[] {
  const ipam = objectOf(network['ipam']);
  const ipv6 = textOf(network['enable_ipv6']);
  return factsOf({
    Driver: textOf(network['driver']),
    Internal: textOf(network['internal']) === 'true',
    Attachable: textOf(network['attachable']) === 'true',
    ...(ipv6 !== '' && { EnableIPv6: ipv6 === 'true' }),
    Options: textsByName(network['driver_opts']),
    Labels: textsByName(network['labels']),
    IPAM: {
      Driver: textOf(ipam['driver']),
      Options: textsByName(ipam['options']),
      Config: listOf(ipam['config']).map((each) => {
        const { subnet, gateway, ip_range, aux_addresses } = objectOf(each);
        return {
          Subnet: textOf(subnet),
          Gateway: textOf(gateway),
          IPRange: textOf(ip_range),
          AuxiliaryAddresses: textsByName(aux_addresses),
        };
      }),
    },
  });
}

function textsByName(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(objectOf(value)).map(([name, each]) => [name, textOf(each)]));
}
