import type { Manifest } from '../../../../machines/types.ts';
import { repairAnchors } from './anchors.ts';
import { bundlePathOf } from './bringFiles.ts';
import { replaceBuilds } from './builds.ts';
import { replaceContents } from './contents.ts';
import { removeEmptyKeys, removeEmptyProfiles } from './emptyKeys.ts';
import { replaceEnvFiles } from './envFiles.ts';
import { envValues, readEnvFile } from './envFileValues.ts';
import { replaceEnvironmentSecrets } from './environments.ts';
import { replaceGpuRuntime } from './gpus.ts';
import { replaceHostResources } from './hostResources.ts';
import type { ImportChoices, ImportReport } from './importReport.ts';
import type { ImportWork } from './importWork.ts';
import { removeLogDrivers } from './logDrivers.ts';
import { resolveMergeTags } from './mergeTags.ts';
import { replaceDeviceMounts } from './deviceMounts.ts';
import { replaceMounts } from './mounts.ts';
import { removeBridgeNames, replaceOverlays, replaceOwnContainers, replaceSharedBridge } from './networks.ts';
import { chooseProfiles } from './profiles.ts';
import { renderProjectDocument, type ProjectDocument } from './projectDocument.ts';
import type { ProjectTree } from './projectTree.ts';
import { findReadOnlyServices } from './readOnlyServices.ts';
import { readProject } from './readProject.ts';
import { serviceNamesOf } from './services.ts';
import { shortenStopPeriods } from './stopPeriods.ts';
import { supplyVariables, type SuppliedVariables } from './supplyVariables.ts';
import { removeUselessKeys } from './uselessKeys.ts';
import { variableNamesOf } from './usedVariables.ts';
import { createVariableRegister } from './variableRegister.ts';
import { replaceVolumeDrivers } from './volumeDrivers.ts';

/** A bundle made of a compose project. */
export interface ImportedBundle {
  manifest: ImportedManifest;
  /** Texts of its compose files, by path. */
  composeFiles: Map<string, string>;
  /** Project paths of the files that come along, by their paths in the bundle. */
  copies: Map<string, string>;
  report: ImportReport;
}

/** The keys of a manifest that an import sets. */
export type ImportedManifest = Pick<Manifest, 'name' | 'env' | 'version' | 'sequence' | 'compose'> & {
  schema: 1;
  profiles?: string[];
  variables?: Record<string, string>;
  secrets: { var: string; path: string; field: string }[];
};

/**
 * Makes a bundle of a compose project: what it means to compose stays the same, but for what the report tells. `files` are
 * its compose files in the order of merging. `problems` tells why they are none.
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
  replaceDeviceMounts(work);
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
}

/** The bundle of what the steps have made of the documents, under these paths. */
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
  };
}

function beginImport(tree: ProjectTree, choices: ImportChoices): ImportWork {
  const chosen = [...choices.variables].flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  const known = new Map([['COMPOSE_PROJECT_NAME', `deployd-${choices.env}`], ...chosen]);
  const values = envValues(readEnvFile(tree.textOf(choices.envFile) ?? ''), (name) => known.get(name) ?? null);
  return {
    ...{ tree, choices, documents: [], report: { changes: [], undecided: [], inactive_profiles: [] } },
    ...{ copies: new Map(), paths: new Map(), volumes: new Map(), envFiles: new Set() },
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
    ...{ schema: 1, name, env, version: '1', sequence: 0, compose },
    ...(profiles.length > 0 && { profiles }),
    ...(variables.size > 0 && { variables: Object.fromEntries(variables) }),
    secrets: secrets.map((variable) => {
      const field = variable.toLowerCase();
      return { var: variable, path: `deployd/data/${env}/see/${key}-${field.replaceAll('_', '-')}`, field };
    }),
  };
}
