import type { ImportWork } from './importWork.ts';
import { holdsPrivateKey } from './secretSigns.ts';
import { joinPath, type TreeFile } from './projectTree.ts';

/** Where a file or directory of the project lies in the bundle: at its own path, else below `parent/` or with a number. */
export function bundlePathOf(path: string, { paths }: Pick<ImportWork, 'paths'>): string {
  const known = paths.get(path);
  if (known !== undefined) return known;
  const plain = path === '.' ? 'project' : path.replace(/^(\.\.\/)+/, 'parent/');
  const taken = new Set(['manifest.json', ...paths.values()]);
  let candidate = plain;
  for (let count = 2; taken.has(candidate); count++) candidate = `${plain}-${count}`;
  paths.set(path, candidate);
  return candidate;
}

/** Brings a file along; its path in the bundle. */
export function bringFile(path: string, work: ImportWork): string {
  const into = bundlePathOf(path, work);
  work.copies.set(into, path);
  return into;
}

/** Brings files of a directory along; its path in the bundle. */
export function bringDirectory(path: string, files: readonly TreeFile[], work: ImportWork): string {
  const into = bundlePathOf(path, work);
  for (const file of files) work.copies.set(`${into}/${file.path}`, joinPath(path, file.path));
  return into;
}

/** Whether a file is a `.env` or holds a private key, so that it is no part of a bundle. */
export function isKeyFile(path: string, { tree }: Pick<ImportWork, 'tree'>): boolean {
  return /(^|\/)\.env$/.test(path) || holdsPrivateKey(tree.textOf(path) ?? '');
}
