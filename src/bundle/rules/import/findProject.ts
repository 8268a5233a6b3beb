import { readEnvFile, envValues } from './envFileValues.ts';
import { parseProjectFile } from './projectDocument.ts';
import { normalizeRelative, type ProjectTree } from './projectTree.ts';
import { textAt, valueAt } from './yamlNodes.ts';

/** The compose files of a project, and what its env file says about compose itself. */
export interface FoundProject {
  /** In the order of merging; none when there are none. */
  files: string[];
  /** The project's own name; null without one. */
  name: string | null;
  /** Profiles that are chosen by `COMPOSE_PROFILES`. */
  profiles: string[];
}

/** Finds compose files as compose does; `chosen` takes their place. */
export function findProject(tree: ProjectTree, chosen: readonly string[], envFile: string): FoundProject {
  const values = envValues(readEnvFile(tree.textOf(envFile) ?? ''), () => null);
  const named =
    chosen.length > 0 ? chosen : splitList(values.get('COMPOSE_FILE'), values.get('COMPOSE_PATH_SEPARATOR'));
  const files = named.length > 0 ? named.map(normalizeRelative) : defaultFiles(tree);
  const names = files.flatMap((file) => ownNameOf(tree, file) ?? []);
  return {
    files,
    name: values.get('COMPOSE_PROJECT_NAME') || (names.at(-1) ?? null),
    profiles: splitList(values.get('COMPOSE_PROFILES'), ','),
  };
}

function splitList(text: string | undefined, separator: string | undefined): string[] {
  return (text ?? '').split(separator || ':').flatMap((part) => part.trim() || []);
}

const defaultNames = ['compose.yaml', 'compose.yml', 'docker-compose.yml', 'docker-compose.yaml'];
const overrideNames = defaultNames.map((name) => name.replace(/\./, '.override.'));

function defaultFiles(tree: ProjectTree): string[] {
  const isFile = (path: string) => tree.kindOf(path) === 'file';
  const file = defaultNames.find(isFile);
  if (file === undefined) return [];
  const override = overrideNames.find(isFile);
  return override === undefined ? [file] : [file, override];
}

function ownNameOf(tree: ProjectTree, file: string): string | null {
  const read = parseProjectFile(file, tree.textOf(file) ?? '');
  const [document] = 'problems' in read ? [] : read.documents;
  const name = document === undefined ? null : textAt(valueAt(document.root, document, 'name'), document);
  return name === null || name.includes('$') ? null : name;
}
