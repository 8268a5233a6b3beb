import { realpathSync } from 'node:fs';
import { normalize } from 'node:path';
import { printable } from '../../core/text.rules.ts';
import { type ComposeProgram, runCompose } from './composeProgram.ts';
import type { ImportedBundle } from './importProject.rules.ts';
import { masked } from './importWork.rules.ts';
import { homeOf, type ProjectSource } from './readProject.ts';
import { type Difference, placesInProject, unreportedDifferences } from './reported.rules.ts';
import { modelOf } from './model.rules.ts';

/** A project, and a bundle of it on the disk, to be compared. */
export interface Comparison {
  compose: ComposeProgram;
  source: ProjectSource;
  /** Directory of the bundle. */
  directory: string;
  bundle: ImportedBundle;
}

/**
 * Lets compose read the project and the bundle with the same values, and returns each difference that the report of the
 * import does not name. A project or bundle that compose cannot read is a difference, too.
 */
export async function compareMeaning(comparison: Comparison): Promise<Difference[]> {
  const [first, ...rest] = await differencesWith('', comparison);
  const isUnread = first?.key === 'compose' && rest.length === 0;
  return isUnread ? differencesWith(standIn, comparison) : [...(first === undefined ? [] : [first]), ...rest];
}

/** Compares with a value for secrets that are empty in the project, which may demand one (`${NAME:?}`). */
async function differencesWith(
  empty: string,
  { compose, source, bundle, directory }: Comparison,
): Promise<Difference[]> {
  const [root, out] = [realpathSync(source.directory), realpathSync(directory)];
  const { chosen } = source;
  const home = homeOf(source);
  const names = bundle.manifest.secrets.map((secret) => secret.var);
  const values = [...Object.entries(bundle.manifest.variables ?? {}), ...names.map((name) => [name, standIn] as const)];
  const lacksValue = (value: string | null) => value === null || (value === '' && empty !== '');
  const given = new Map(values.filter(([name, value]) => value !== '' && lacksValue(bundle.valueOf(name))));
  const secrets = new Map(names.map((name) => [name, (bundle.valueOf(name) ?? standIn) || empty]));
  const demanded = Object.fromEntries(
    [...bundle.demanded].filter((name) => !secrets.has(name)).map((name) => [name, '1']),
  );
  const hidden = (text: string) => [...secrets.values()].reduce(withoutSecret, masked(printable(text)));
  const unread = (owner: string, text: string) => [{ owner, key: 'compose', what: `cannot read it: ${hidden(text)}` }];
  const projectName = `deployd-${bundle.manifest.env}`;
  const read = (cwd: string, flags: readonly string[], env: Record<string, string>) =>
    runCompose(compose, ['-p', projectName, '--profile', '*', ...flags, 'config', '--format', 'json'], {
      ...{ cwd, env: { HOME: home, ...env } },
    });
  const envFlags = source.envFile === null ? [] : ['--env-file', source.envFile];
  const before = await read(root, [...envFlags, ...fileFlags(source.files)], {
    ...demanded,
    ...Object.fromEntries(given),
    ...Object.fromEntries(chosen),
  });
  if (!before.isDone) return unread('project', before.text);
  const ownFlags = ['--project-directory', out, '--env-file', '/dev/null'];
  const after = await read(out, [...ownFlags, ...fileFlags(bundle.manifest.compose)], {
    ...demanded,
    ...bundle.manifest.variables,
    ...Object.fromEntries(secrets),
  });
  if (!after.isDone) return unread('bundle', after.text);
  const toProject = placesInProject(bundle.copies, { out, root });
  const models = { before: modelOf(before.text, withoutDots), after: modelOf(after.text, toProject) };
  const differences = unreportedDifferences(models, bundle.report, { projectName, root, home });
  return differences.map(({ owner, key, what }) => ({ owner, key, what: hidden(what) }));
}

function fileFlags(files: readonly string[]): string[] {
  return files.flatMap((file) => ['-f', file]);
}

const standIn = 'a-value';

/** Some versions of compose leave `..` in paths. */
function withoutDots(text: string): string {
  return text.startsWith('/') && text.includes('/../') ? normalize(text) : text;
}

function withoutSecret(text: string, secret: string): string {
  return secret.length < 3 || secret === standIn ? text : text.replaceAll(secret, '…');
}
