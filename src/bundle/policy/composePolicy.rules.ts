import type { Refusal, RefusedFault } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import { directoriesOf } from '../archive/archiveEntries.rules.ts';
import { type ComposeProject, openedPaths } from '../compose/composeProject.rules.ts';
import { type ComposeFile, type ComposeNode, entriesOf, nodeFromJson, valueAt } from '../compose/composeNode.rules.ts';
import { mountedContents, readOnlyVolumes } from '../compose/mounts.rules.ts';
import {
  extendsFault,
  type MergedFiles,
  mergedFilesOf,
  mergedServicesOf,
  replacedMounts,
} from '../compose/services.rules.ts';
import { variablesOf } from '../compose/variables.rules.ts';
import { findingsWithoutEffect } from './effect.rules.ts';
import { validateComposedNames, validateContainerNames } from './engineNames.rules.ts';
import {
  faultsOf,
  type Finding,
  type PolicyFacts,
  refuse,
  refuseWithoutValue,
  type Validator,
  type ValueLocation,
} from './finding.rules.ts';
import { composeLimits, validateBundleLimits, validateDocumentSize } from './limits.rules.ts';
import { anyHost, type OrchestratorName, type PolicyHost, type Privilege } from './policyHost.rules.ts';
import { judge, type Judgement, sharedPrivileges } from './privileges.rules.ts';
import { swarmFindings } from './swarm.rules.ts';
import { topLevelKeys } from './topLevel.rules.ts';
import { atKey, mappingOf } from './validators.rules.ts';

const validateTopLevel = mappingOf(topLevelKeys);

/** The faults that only this orchestrator refuses. */
const orchestratorValidators: Record<OrchestratorName, Validator> = {
  compose: findingsWithoutEffect,
  swarm: swarmFindings,
};

const validateForOrchestrator: Validator = (root, location) =>
  orchestratorValidators[location.facts.host.orchestrator ?? 'compose'](root, location);

/** Facts about a bundle in addition to its compose files. */
type PolicyContext = Omit<
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
type ModelPolicyContext = PolicyContext & Pick<PolicyFacts, 'openedPaths'>;

/**
 * Validates a bundle's compose files against an allow-list (spec §12). Each file is validated by itself, because what
 * compose merges consists of values that were all validated in their own file. Privileges are lifted by
 * `allow_privileged` and by the permits of the host.
 */
export function validateComposePolicy(project: ComposeProject, context: PolicyContext): Refusal[] {
  return judgeComposePolicy(project, context).refusals;
}

/** The same, with the privileges that the host permits. */
export function judgeComposePolicy(project: ComposeProject, context: PolicyContext): Judgement {
  const { manifest, isApplied = false, host = anyHost } = context;
  return judge(composeFindings(project, context), { agent: manifest.agent, host, isApplied });
}

/** The keys in the files of a bundle that would have no effect on a host with compose. */
export function faultsWithoutEffect(project: ComposeProject, context: Omit<PolicyContext, 'manifest'>): RefusedFault[] {
  const { files } = project;
  const compose = files.map(({ path }) => path);
  const facts = factsOf(project, { ...context, openedPaths: openedPaths(project) }, { compose });
  return faultsOf(
    files.flatMap(({ path, root }) => findingsWithoutEffect(root, { facts, file: path, owner: 'file', keyPath: '' })),
  );
}

/** The privileges over a host that a bundle's compose files need, each once. */
export function askedPrivileges(project: ComposeProject, context: PolicyContext): Privilege[] {
  const privileges = composeFindings(project, context).flatMap(({ privilege }) => privilege ?? []);
  return [...new Map(privileges.map((privilege) => [JSON.stringify(privilege), privilege])).values()];
}

function composeFindings(project: ComposeProject, { manifest, ...context }: PolicyContext): Finding[] {
  const { files } = project;
  const facts = factsOf(project, { ...context, openedPaths: openedPaths(project) }, manifest);
  // no file could be parsed: the problems of the parser are enough
  const allFiles =
    files.length === 0
      ? []
      : [...validateHasService(project), ...validateDocumentSize(project), ...validateContainerNames(project)];
  const limits = validateBundleLimits(project, context.texts);
  const findings = [...files.flatMap((file) => fileFindings(file, facts)), ...allFiles, ...limits];
  return [...findings, ...sharedPrivileges(files, findings, facts)];
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
  const merged = mergedFilesOf([{ root }]);
  const facts: PolicyFacts = { ...factsOf(merged, context, manifest), rendered: { dir: doubleDollars(dir) } };
  const location = { facts, file: '', owner: 'model', keyPath: '' };
  const findings = [
    ...validateTopLevel(root, location),
    ...validateForOrchestrator(root, location),
    ...validateControlCharacters(root, location),
    ...validateEveryValue(root, location, validateKeyCount),
  ];
  const all = [
    ...findings,
    ...validateHasService(merged),
    ...validateContainerNames(merged),
    ...validateComposedNames(merged.services, facts),
    ...validateBundleLimits(merged),
  ];
  const shared = sharedPrivileges([{ path: '', root }], all, facts);
  const { isApplied = false } = context;
  return judge([...all, ...shared], { agent: manifest.agent, host: facts.host, isApplied }).refusals;
}

function factsOf(
  merged: MergedFiles,
  context: Omit<ModelPolicyContext, 'manifest'>,
  { compose }: Pick<Manifest, 'compose'>,
): PolicyFacts {
  const readOnly = readOnlyVolumes(merged, context.projectName);
  const directories = directoriesOf(context.releaseFiles);
  const ofFiles = {
    readOnlyVolumes: readOnly,
    replacedMounts: replacedMounts(merged),
    mountedContents: mountedContents(merged.files),
    mergedServices: mergedServicesOf(merged),
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

function validateHasService({ services }: MergedFiles): Finding[] {
  const hasService = services.size > 0;
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

/** Characters that another program may read as the end of a field, line or text. */
const controlCharacter = /[\p{Cc}\u2028\u2029\ufeff\p{Cs}]/u;
/** Control characters that free text may not hold either; line ends and tabs are allowed there. */
const forbiddenCharacter = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\p{Cs}]/u;

/** Key paths of free text, which may have several lines. */
const freeTextKeys =
  /^(command|entrypoint|environment|labels|annotations|healthcheck\.test|deploy\.labels|(post_start|pre_start|pre_stop)\.(command|environment)|top \w+\.(content|labels))$/;

/**
 * Finds control characters in keys and values. A YAML escape can produce them, and compose or the engine could read
 * them as the end of a path or name. Free text of a rendered model is exempt: it may contain the value of a secret.
 */
function validateControlCharacters(root: ComposeNode, location: ValueLocation): Finding[] {
  return entriesOf(root).flatMap(([section, value]) => {
    const sectionLocation = { ...location, keyPath: section };
    if (section.startsWith('x-') || value.kind !== 'map')
      return validateValue(value, sectionLocation, section.startsWith('x-') ? 'free' : []);
    const named = entriesOf(value).flatMap(([name, part]) => {
      const owner = `${section.replace(/s$/, '')} ${name}`;
      return [
        ...validateKey(name, part, sectionLocation),
        ...validateValue(part, { ...location, owner }, section === 'services' ? [] : [`top ${section}`]),
      ];
    });
    return [...validateKey(section, value, location), ...named];
  });
}

const withoutIt = 'write it without';

type KeyChain = readonly string[] | 'free';

function validateValue(node: ComposeNode, location: ValueLocation, keys: KeyChain): Finding[] {
  if (node.kind === 'list') return node.items.flatMap((item) => validateValue(item, location, keys));
  if (node.kind === 'map') {
    return entriesOf(node).flatMap(([name, inner]) => [
      ...validateKey(name, inner, location),
      ...validateValue(inner, atKey(location, name), extendChain(keys, name)),
    ]);
  }
  const isFree = keys === 'free';
  if (isFree && location.facts.rendered) return [];
  return (isFree ? forbiddenCharacter : controlCharacter).test(node.text)
    ? refuse(node, location, { message: 'holds a control character', cure: withoutIt })
    : [];
}

function validateKey(name: string, value: ComposeNode, location: ValueLocation): Finding[] {
  return controlCharacter.test(name)
    ? refuse(value, location, { message: 'has a key with a control character', cure: withoutIt })
    : [];
}

function extendChain(keys: KeyChain, name: string): KeyChain {
  if (keys === 'free' || name.startsWith('x-')) return 'free';
  const path = [...keys, name];
  return freeTextKeys.test(path.join('.')) ? 'free' : path;
}
