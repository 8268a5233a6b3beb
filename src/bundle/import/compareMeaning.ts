import { realpathSync } from 'node:fs';
import { normalize } from 'node:path';
import { printable } from '../../core/text.rules.ts';
import type { ComposeProgram } from './composeProgram.ts';
import type { ImportedBundle } from './importProject.rules.ts';
import { masked } from './importWork.rules.ts';
import { modelOf } from './model.rules.ts';
import { type ProjectSource, readerOf } from './readProject.ts';
import { type Difference, placesInProject, unreportedDifferences } from './reported.rules.ts';

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
  const differences = await differencesWith('', comparison);
  const isUnread = differences.length === 1 && differences[0]?.key === 'compose';
  return isUnread ? differencesWith(standIn, comparison) : differences;
}

/** Compares with a value for secrets that are empty in the project, which may demand one (`${NAME:?}`). */
async function differencesWith(empty: string, comparison: Comparison): Promise<Difference[]> {
  const { compose, source, bundle, directory } = comparison;
  const { manifest, valueOf } = bundle;
  const names = manifest.secrets.map((secret) => secret.var);
  const values = [...Object.entries(manifest.variables ?? {}), ...names.map((name) => [name, standIn] as const)];
  const lacksValue = (value: string | null) => value === null || (value === '' && empty !== '');
  const given = values.filter(([name, value]) => value !== '' && lacksValue(valueOf(name)));
  const secrets = new Map(names.map((name) => [name, (valueOf(name) ?? standIn) || empty]));
  const demanded = [...bundle.demanded].flatMap((name) => (secrets.has(name) ? [] : [[name, '1'] as const]));
  const hidden = (text: string) => [...secrets.values()].reduce(withoutSecret, masked(printable(text)));
  const unread = (owner: string, text: string) => [{ owner, key: 'compose', what: `cannot read it: ${hidden(text)}` }];
  const projectName = `deployd-${manifest.env}`;
  const flags = ['-p', projectName, '--profile', '*'];
  const before = await readerOf(compose, source)(flags, Object.fromEntries([...demanded, ...given]));
  if (!before.isDone) return unread('project', before.text);
  const [root, out] = [realpathSync(source.directory), realpathSync(directory)];
  const written = { ...source, directory: out, files: manifest.compose, envFile: '/dev/null' };
  const after = await readerOf(compose, written)(
    [...flags, '--project-directory', out],
    Object.fromEntries([...demanded, ...Object.entries(manifest.variables ?? {}), ...secrets]),
  );
  if (!after.isDone) return unread('bundle', after.text);
  const models = {
    before: modelOf(before.text, compose.major, withoutDots),
    after: modelOf(after.text, compose.major, placesInProject(bundle.paths, { out, root })),
  };
  const differences = unreportedDifferences(models, { ...bundle, projectName });
  return differences.map((difference) => ({ ...difference, what: hidden(difference.what) }));
}

const standIn = 'a-value';

/** Some versions of compose leave `..` in paths. */
function withoutDots(text: string): string {
  return text.startsWith('/') && text.includes('/../') ? normalize(text) : text;
}

function withoutSecret(text: string, secret: string): string {
  return secret.length < 3 || secret === standIn ? text : text.replaceAll(secret, '…');
}
