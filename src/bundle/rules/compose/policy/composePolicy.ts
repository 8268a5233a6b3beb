import type { RefusedFault, Refusal } from '../../../../../machines/refusals.ts';
import type { Manifest } from '../../../../../machines/types.ts';
import { variablesOf } from '../document/interpolation.ts';
import { validateBundleLimits, validateDocumentSize } from '../limits/bundleLimits.ts';
import { openedPaths } from '../document/composeContents.ts';
import { validateControlCharacters } from './controlCharacters.ts';
import {
  faultsOf,
  refuseWithoutValue,
  refuse,
  type PolicyFacts,
  type Finding,
  type Validator,
  type ValueLocation,
} from './finding.ts';
import { validateComposedNames, validateContainerNames } from './engineNames.ts';
import { judge, type Judgement } from './judge.ts';
import { anyHost, type OrchestratorName, type PolicyHost } from './policyHost.ts';
import type { Power } from './power.ts';
import { sharedPowers } from './sharedPowers.ts';
import { extendsFault, mergedServicesOf, replacedMounts, serviceLayers } from '../document/serviceLayers.ts';
import { readOnlyVolumes } from '../document/readOnlyVolumes.ts';
import { composeLimits } from '../limits/composeLimits.ts';
import { directoriesOf } from '../document/bundlePath.ts';
import { mountedContents } from '../document/contentAccess.ts';
import { findingsWithoutEffect } from '../effect/withoutEffect.ts';
import { swarmFindings } from '../swarm/swarmFindings.ts';
import { topLevelKeys } from './topLevel.ts';
import { mappingOf, atKey } from './validators.ts';
import { valueAt, entriesOf, nodeFromJson, type ComposeFile, type ComposeNode } from '../document/composeNode.ts';

const validateTopLevel = mappingOf(topLevelKeys);

/** What only this orchestrator refuses. */
const orchestratorValidators: Record<OrchestratorName, Validator> = {
  compose: findingsWithoutEffect,
  swarm: swarmFindings,
};

const validateForOrchestrator: Validator = (root, location) =>
  orchestratorValidators[location.facts.host.orchestrator ?? 'compose'](root, location);

/** Facts about a bundle besides its compose files. */
export type PolicyContext = Omit<
  PolicyFacts,
  | 'composeFiles'
  | 'directories'
  | 'rendered'
  | 'openedPaths'
  | 'readOnlyVolumes'
  | 'replacedMounts'
  | 'mountedContents'
  | 'mergedServices'
  | 'host'
> & {
  readonly manifest: Manifest;
  /** True where the host has applied the same content already. */
  readonly isApplied?: boolean;
  /** By default any host without a policy. */
  readonly host?: PolicyHost;
};

/** The same for a rendered model, which no longer shows which files compose opened. */
export type ModelPolicyContext = PolicyContext & Pick<PolicyFacts, 'openedPaths'>;

/**
 * Validates a bundle's compose files against an allow-list (spec §12). Each file is validated by itself, because what
 * compose merges consists of values that were all validated in their own file. Privileges are lifted by
 * `allow_privileged` and by the permits of the host.
 */
export function validateComposePolicy(files: readonly ComposeFile[], context: PolicyContext): Refusal[] {
  return judgeComposePolicy(files, context).refusals;
}

/** The same, with the powers that the host permits. */
export function judgeComposePolicy(files: readonly ComposeFile[], context: PolicyContext): Judgement {
  const { manifest, isApplied = false, host = anyHost } = context;
  return judge(composeFindings(files, context), { agent: manifest.agent, host, isApplied });
}

/** What the files of a bundle ask for that would have no effect on a host with compose. */
export function faultsWithoutEffect(
  files: readonly ComposeFile[],
  context: Omit<PolicyContext, 'manifest'>,
): RefusedFault[] {
  const compose = files.map(({ path }) => path);
  const facts = factsOf(files, { ...context, openedPaths: openedPaths(files) }, { compose });
  return faultsOf(
    files.flatMap(({ path, root }) => findingsWithoutEffect(root, { facts, file: path, owner: 'file', keyPath: '' })),
  );
}

/** The powers over a host that a bundle's compose files ask for, each once. */
export function askedPowers(files: readonly ComposeFile[], context: PolicyContext): Power[] {
  const powers = composeFindings(files, context).flatMap(({ power }) => power ?? []);
  return [...new Map(powers.map((power) => [JSON.stringify(power), power])).values()];
}

function composeFindings(files: readonly ComposeFile[], { manifest, ...context }: PolicyContext): Finding[] {
  const facts = factsOf(files, { ...context, openedPaths: openedPaths(files) }, manifest);
  // no file could be parsed: the problems of the parser are enough
  const allFiles =
    files.length === 0
      ? []
      : [...validateHasService(files), ...validateDocumentSize(files), ...validateContainerNames(files)];
  const limits = validateBundleLimits(files, context.texts);
  const findings = [...files.flatMap((file) => fileFindings(file, facts)), ...allFiles, ...limits];
  return [...findings, ...sharedPowers(files, findings, facts)];
}

/**
 * Validates the model that compose rendered from the files in `dir` against the same policy as the files. The model
 * holds the values of secrets, so its findings name only the owner and the top-level key.
 */
export function validateModelPolicy(
  model: unknown,
  dir: string,
  { manifest, ...context }: ModelPolicyContext,
): Refusal[] {
  const root = nodeFromJson(model);
  const facts: PolicyFacts = { ...factsOf([{ root }], context, manifest), rendered: { dir: doubleDollars(dir) } };
  const location = { facts, file: '', owner: 'model', keyPath: '' };
  const findings = [
    ...validateTopLevel(root, location),
    ...validateForOrchestrator(root, location),
    ...validateControlCharacters(root, location),
    ...validateEveryValue(root, location, validateKeyCount),
  ];
  const all = [
    ...findings,
    ...validateHasService([{ root }]),
    ...validateContainerNames([{ root }]),
    ...validateComposedNames(serviceLayers([{ root }]), facts),
    ...validateBundleLimits([{ root }]),
  ];
  const shared = sharedPowers([{ path: '', root }], all, facts);
  const { isApplied = false } = context;
  return judge([...all, ...shared], { agent: manifest.agent, host: facts.host, isApplied }).refusals;
}

function factsOf(
  files: readonly { root: ComposeNode }[],
  context: Omit<ModelPolicyContext, 'manifest'>,
  { compose }: Pick<Manifest, 'compose'>,
): PolicyFacts {
  const readOnly = readOnlyVolumes(files, context.projectName);
  const directories = directoriesOf(context.releaseFiles);
  const ofFiles = {
    readOnlyVolumes: readOnly,
    replacedMounts: replacedMounts(files),
    mountedContents: mountedContents(files),
    mergedServices: mergedServicesOf(files),
  };
  return { host: anyHost, ...context, ...ofFiles, directories, composeFiles: compose };
}

/** Compose doubles every dollar sign in a rendered model. */
function doubleDollars(dir: string): string {
  return dir.replaceAll('$', '$$$$');
}

function fileFindings({ path, root }: ComposeFile, facts: PolicyFacts): Finding[] {
  const location = { facts, file: path, owner: 'file', keyPath: '' };
  const services = valueAt(root, 'services');
  const extendsFindings = entriesOf(services).flatMap(([name, service]) => {
    const fault = extendsFault(services, name);
    return fault === null
      ? []
      : refuse(
          valueAt(service, 'extends') ?? service,
          { ...location, owner: `service ${name}` },
          { message: fault, cure: 'name another service of its file' },
        );
  });
  return [
    ...validateTopLevel(root, location),
    ...validateForOrchestrator(root, location),
    ...validateControlCharacters(root, location),
    ...extendsFindings,
    ...validateEveryValue(root, location, validateTextForm),
  ];
}

/** Validates every value; its location names the owner (a service, network …) and the key path. */
function validateEveryValue(root: ComposeNode, location: ValueLocation, validate: Validator): Finding[] {
  return [
    ...validate(root, location),
    ...entriesOf(root).flatMap(([section, value]) => {
      const [, kind] = /^(config|network|secret|service|volume)s$/.exec(section) ?? [];
      const inside = atKey(location, section);
      if (kind === undefined || value.kind !== 'map') return validateSubtree(value, inside, validate);
      const parts = entriesOf(value).flatMap(([name, part]) =>
        validateSubtree(part, { ...location, owner: `${kind} ${name}` }, validate),
      );
      return [...validate(value, inside), ...parts];
    }),
  ];
}

function validateSubtree(node: ComposeNode, location: ValueLocation, validate: Validator): Finding[] {
  const items = node.kind === 'list' ? node.items : [];
  return [
    ...validate(node, location),
    ...items.flatMap((item) => validateSubtree(item, location, validate)),
    ...entriesOf(node).flatMap(([key, inner]) => validateSubtree(inner, atKey(location, key), validate)),
  ];
}

const validateKeyCount: Validator = (node, location) =>
  node.kind === 'map' && node.entries.size > composeLimits.keysPerMapping
    ? refuseWithoutValue(node, location, {
        message: `has more than ${composeLimits.keysPerMapping} keys`,
        cure: 'divide it',
      })
    : [];

/** Length and variables of a text. Not for a rendered text, which may hold the values of several secrets. */
const validateTextForm: Validator = (node, location) => {
  if (node.kind !== 'scalar') return validateKeyCount(node, location);
  const { error } = variablesOf(node.text);
  return [
    ...(node.text.length > composeLimits.textCharacters
      ? refuseWithoutValue(node, location, {
          message: `has more than ${composeLimits.textCharacters} characters`,
          cure: 'put it into a file of the bundle',
        })
      : []),
    ...(error === undefined
      ? []
      : refuse(node, location, { message: error, cure: 'write $$ for a dollar sign, and fewer variables on a line' })),
  ];
};

function validateHasService(files: readonly { root: ComposeNode }[]): Finding[] {
  const hasService = files.some(({ root }) => entriesOf(valueAt(root, 'services')).length > 0);
  return hasService
    ? []
    : [
        {
          code: 'COMPOSE_REFUSED',
          text: 'no compose file has a service',
          cure: 'name the compose files in manifest.json',
        },
      ];
}
