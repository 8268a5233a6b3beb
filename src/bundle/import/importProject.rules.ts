import { isMap, type Node } from 'yaml';
import type { Manifest } from '../../../machines/types.ts';
import { permitKeys, type Permits } from '../../api/hostPolicy.rules.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { textOf } from '../compose/composeNode.rules.ts';
import { effectiveValue, serviceLayers } from '../compose/services.rules.ts';
import { type BundleFacts, noHost, type Plan, planOf } from '../plan/plan.rules.ts';
import { knownVariables, withKnownVariables } from '../plan/variables.rules.ts';
import { askedPrivileges } from '../policy/composePolicy.rules.ts';
import { anyHost, permitEntry, type Privilege } from '../policy/policyHost.rules.ts';
import { replaceContents, replaceEnvFiles, replaceEnvironmentSecrets, replaceWrittenSecrets } from './files.rules.ts';
import {
  bundlePathOf,
  createVariableRegister,
  type ImportChoices,
  type ImportReport,
  type ImportWork,
  leaveUndecided,
  normalizeRelative,
  type ProjectTree,
  type SecretSource,
  tellChange,
} from './importWork.rules.ts';
import { replaceMounts, replaceSecretFiles, replaceVolumeDrivers } from './mounts.rules.ts';
import {
  findRenamed,
  removeBridgeNames,
  replaceHostResources,
  replaceOverlays,
  replaceOwnContainers,
  replaceSharedBridge,
} from './networks.rules.ts';
import { type ProjectDocument, renderProjectDocument, repairAnchors, serviceNamesOf } from './projectDocument.rules.ts';
import { readProject } from './readProject.rules.ts';
import {
  chooseProfiles,
  findReadOnlyServices,
  removeEmptyKeys,
  removeEmptyProfiles,
  removeLogDrivers,
  removeUselessKeys,
  replaceBuilds,
  replaceDeviceMounts,
  replaceGpuRuntime,
  shortenStopPeriods,
} from './serviceKeys.rules.ts';
import { envValues, readEnvFile, type SuppliedVariables, supplyVariables, variableNamesOf } from './variables.rules.ts';
import { mapAt, type MapNode, ownValue, removeKey, valueAt } from './yamlNodes.rules.ts';

/** A bundle made of a compose project. */
export interface ImportedBundle {
  manifest: ImportedManifest;
  /** Texts of its compose files, by path. */
  composeFiles: Map<string, string>;
  /** Project paths of the files that come along, by their paths in the bundle. */
  copies: Map<string, string>;
  report: ImportReport;
  /** The value that a variable has in the project, also a secret; null if it has none. A function, so that nothing prints it. */
  valueOf: (name: string) => string | null;
  /** Where the values of secrets are, by variable. */
  secretSources: ReadonlyMap<string, SecretSource>;
}

/** The keys of a manifest that an import sets. */
type ImportedManifest = Pick<Manifest, 'name' | 'env' | 'version' | 'sequence' | 'compose'> & {
  schema: 1;
  profiles?: string[];
  variables?: Record<string, string>;
  secrets: { var: string; path: string; field: string }[];
};

/**
 * Makes a bundle of a compose project: its meaning to compose stays the same, except for the reported changes. `files` are
 * its compose files in the order of merging. `problems` gives the reasons for the others.
 */
export function importProject(
  files: readonly string[],
  tree: ProjectTree,
  choices: ImportChoices,
): ImportedBundle | { problems: string[] } {
  const work = beginImport(tree, choices);
  const problems = readProject(files, work);
  if (problems.length > 0) return { problems };
  if (serviceNamesOf(work.documents).length === 0) return { problems: ['no compose file has a service'] };
  work.register.takeNames(variableNamesOf(work.documents));
  const compose = work.documents.map((document) => composePathOf(document, work));
  replaceParts(work);
  return bundleOf({ compose, profiles: chooseProfiles(work) }, work);
}

/** Replaces what a bundle may not have, or has in another form. */
function replaceParts(work: ImportWork): void {
  resolveMergeTags(work);
  removeEmptyKeys(work);
  removeEmptyProfiles(work);
  replaceBuilds(work);
  replaceContents(work);
  findReadOnlyServices(work);
  replaceEnvFiles(work);
  replaceEnvironmentSecrets(work);
  replaceWrittenSecrets(work);
  replaceDeviceMounts(work);
  replaceSecretFiles(work);
  replaceMounts(work);
  replaceVolumeDrivers(work);
  replaceOverlays(work);
  removeBridgeNames(work);
  replaceSharedBridge(work);
  replaceOwnContainers(work);
  replaceGpuRuntime(work);
  shortenStopPeriods(work);
  removeLogDrivers(work);
  replaceHostResources(work);
  removeUselessKeys(work);
  findRenamed(work);
}

/** The bundle of the changed documents, under these paths. */
function bundleOf({ compose, profiles }: Pick<Manifest, 'compose' | 'profiles'>, work: ImportWork): ImportedBundle {
  const supplied = supplyVariables(work);
  const texts = work.documents.map((document) => {
    repairAnchors(document);
    return renderProjectDocument(document);
  });
  return {
    manifest: manifestOf({ compose, profiles }, supplied, work.choices),
    composeFiles: new Map(compose.map((path, index) => [path, texts[index] ?? ''])),
    copies: work.copies,
    report: work.report,
    valueOf: work.register.valueOf,
    secretSources: work.secretSources,
  };
}

function beginImport(tree: ProjectTree, choices: ImportChoices): ImportWork {
  const chosen = [...choices.variables].flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  const known = new Map([['COMPOSE_PROJECT_NAME', `deployd-${choices.env}`], ...chosen]);
  const values = envValues(readEnvFile(tree.textOf(choices.envFile) ?? ''), (name) => known.get(name) ?? null);
  return {
    ...{ tree, choices, documents: [], report: { changes: [], undecided: [], inactive_profiles: [], renamed: [] } },
    ...{ copies: new Map(), paths: new Map(), volumes: new Map(), envFiles: new Set() },
    secretSources: new Map(
      [...values.keys()]
        .filter((name) => !known.has(name))
        .map((name) => [name, { path: choices.envFile, isEnvFile: true }]),
    ),
    register: createVariableRegister(new Map([...values, ...known]), choices),
  };
}

/** Several documents of one file become several files. */
function composePathOf(document: ProjectDocument, work: ImportWork): string {
  const index = work.documents.filter(({ path }) => path === document.path).indexOf(document);
  const into = bundlePathOf(document.path, work);
  return index === 0 ? into : bundlePathOf(`${document.path.replace(/\.ya?ml$/, '')}.${index + 1}.yaml`, work);
}

function manifestOf(
  { compose, profiles }: Pick<Manifest, 'compose' | 'profiles'>,
  { secrets, variables }: SuppliedVariables,
  choices: ImportChoices,
): ImportedManifest {
  const { name, env } = choices;
  const key =
    name
      .toLowerCase()
      .replace(/[^a-z0-9_.-]+/g, '-')
      .replace(/^[^a-z0-9]+/, '') || 'secret';
  return {
    ...{ schema: 1, name, env, version: '1', sequence: 1, compose },
    ...(profiles.length > 0 && { profiles }),
    ...(variables.size > 0 && { variables: Object.fromEntries(variables) }),
    secrets: secrets.map((variable) => {
      const field = variable.toLowerCase();
      return { var: variable, path: `deployd/data/${env}/see/${key}-${field.replaceAll('_', '-')}`, field };
    }),
  };
}

/** The verdict of a host on an imported bundle. */
export interface ImportVerdict {
  /** The permits that a host needs. */
  permits: Partial<Permits>;
  /** The plan of a host that does. */
  plan: Plan;
}

/** Validates a bundle as a host does that grants all needed permits. */
export function verdictOf(facts: BundleFacts): ImportVerdict {
  const { manifest, project, releaseFiles, texts } = facts;
  const context = { manifest, releaseFiles, texts, projectName: `deployd-${manifest.env}` };
  const permits = permitsOf(askedPrivileges(project, context));
  const policyHost = { ...anyHost, policy: { ...anyHost.policy, permit: permits } };
  return { permits, plan: planOf(facts, { ...noHost, policyHost }) };
}

/** The permits that grant exactly these privileges, in the form of `policy.permit`. */
export function permitsOf(privileges: readonly Privilege[]): Partial<Permits> {
  const byKey = permitKeys.flatMap((key) => {
    const entries = new Set(privileges.filter(({ permit }) => permit === key).map(permitEntry));
    const needed = [...entries].filter((entry) => !entries.has(entry.replace(/:ro$/, '')) || !entry.endsWith(':ro'));
    return needed.length > 0 ? [[key, needed.sort()] as const] : [];
  });
  return Object.fromEntries(byKey);
}

/** The lines of config.yaml that give a host these permits; none without permits. */
export function permitLines(permits: Partial<Permits>): string[] {
  const lines = Object.entries(permits).map(([key, entries]) => `    ${key}: [${entries.map(quoted).join(', ')}]`);
  return lines.length === 0 ? [] : ['policy:', '  permit:', ...lines];
}

/** Text that YAML reads as text. */
function quoted(text: string): string {
  return /^[A-Za-z_][\w-]*$/.test(text) && !/^(true|false|yes|no|on|off|y|n|null)$/i.test(text)
    ? text
    : JSON.stringify(text);
}

/** One command for all secrets of an env file, and one for each other secret, which may be the content of a file. */
export function secretLines({ manifest, secretSources }: ImportedBundle, directory: string): string[] {
  const all = manifest.secrets.map((secret) => ({
    ...{ variable: secret.var, field: secret.field, key: secret.path.split('/').at(-1) ?? secret.path },
    from: secretSources.get(secret.var),
  }));
  const envFileOf = ({ from }: (typeof all)[number]) => (from?.isEnvFile === true ? from.path : null);
  const envFiles = [...new Set(all.map(envFileOf))];
  const shared = envFiles.map((path) => [path, all.filter((each) => envFileOf(each) === path)] as const);
  const { env } = manifest;
  const fileOf = (path: string) => shellWord(path.startsWith('/') ? path : `${directory}/${normalizeRelative(path)}`);
  return shared.flatMap(([envFile, secrets]) => {
    if (envFile === null)
      return secrets.map(({ key, field, variable, from }) => {
        const file = from === undefined ? '' : ` --from-file ${fileOf(from.path)}`;
        return `deployctl secret set ${env} ${key} --field ${field}${file}   # ${variable}`;
      });
    const pairs = secrets.map(({ key, variable }) => `${key}=${variable}`);
    return Array.from({ length: Math.ceil(pairs.length / mostSecrets) }, (_, at) => {
      const some = pairs.slice(at * mostSecrets, (at + 1) * mostSecrets);
      return `deployctl secret set ${env} ${some.join(' ')} --from-env-file ${fileOf(envFile)}`;
    });
  });
}

/** The service sets at most so many secrets at once. */
const mostSecrets = 50;

/** A text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/**
 * The image of each service of an imported bundle, with the values of the manifest's variables. Services without an
 * image are left out, and those whose image needs a value that the bundle lacks.
 */
export function importedImages({
  manifest,
  composeFiles,
}: Pick<ImportedBundle, 'manifest' | 'composeFiles'>): Map<string, string> {
  const parsed = [...composeFiles].map(([path, text]) => parseComposeFile(path, text));
  const files = parsed.flatMap((each) => ('file' in each ? [each.file] : []));
  const variables = manifest.variables ?? {};
  const known = knownVariables({ sha: null, version: manifest.version, variables });
  const images = [...serviceLayers(files)].flatMap(([name, layers]) => {
    const image = textOf(effectiveValue(layers, 'image'));
    return image === null ? [] : [[name, withKnownVariables(image, known)] as const];
  });
  return new Map(images.filter(([, image]) => !image.includes('$')));
}

/**
 * Carries out `!reset` and `!override`, which a bundle may not have: what they take out of the files before is removed
 * from these.
 */
function resolveMergeTags(work: ImportWork): void {
  for (const [index, document] of work.documents.entries()) {
    const before = work.documents.slice(0, index);
    resolveBelow(document.root as MapNode, [], { work, document, before });
  }
}

interface Context {
  work: ImportWork;
  document: ProjectDocument;
  before: ProjectDocument[];
}

function resolveBelow(map: MapNode, path: string[], context: Context): void {
  for (const { key, value } of map.items.slice()) {
    const keys = [...path, key.value];
    const tag = value?.tag;
    if (tag === '!reset' || tag === '!override') {
      for (const earlier of context.before) removeEarlier(earlier, keys, context.work);
      tellChange(context.work, placeOf(keys), [
        `${tag} is carried out in the preceding files`,
        'a bundle has no YAML tags',
      ]);
      if (tag === '!reset') removeKey(map, key.value);
      else delete (value as Node).tag;
    }
    if (isMap(value)) resolveBelow(value as MapNode, keys, context);
  }
}

function removeEarlier(document: ProjectDocument, keys: string[], work: ImportWork): void {
  const [last = '', path] = [keys.at(-1), keys.slice(0, -1)];
  const parent = path.reduce<MapNode | null>(
    (map, key) => mapAt(ownValue(map, key), document),
    mapAt(document.root, document),
  );
  if (removeKey(parent, last) || valueAt(document.root, document, ...keys) === null) return;
  const cure = `take it out of ${document.path} by hand`;
  leaveUndecided(work, placeOf(keys), ['is merged into what a later file resets', cure]);
}

function placeOf(keys: string[]): { owner: string; key: string } {
  const [section = '', name, ...rest] = keys;
  return name === undefined
    ? { owner: 'file', key: section }
    : { owner: `${section.replace(/s$/, '')} ${name}`, key: rest.join('.') };
}
