import { stat } from 'node:fs/promises';
import { basename, dirname, relative, resolve } from 'node:path';
import { InvalidArgumentError, type Command } from 'commander';
import { diskFault } from '../../platform/errors/diskFault.ts';
import { openDiskProject, type DiskProject } from '../../bundle/diskProject.ts';
import { isFree, judgeImportedBundle, writeImportedBundle } from '../../bundle/import.ts';
import { findProject } from '../../bundle/rules/import/findProject.ts';
import { importedImages } from '../../bundle/rules/import/importedImages.ts';
import { importProject, type ImportedBundle } from '../../bundle/rules/import/importProject.ts';
import type { ImportChoices } from '../../bundle/rules/import/importReport.ts';
import { defaultLimits as limits } from '../../protocol/defaultLimits.ts';
import { parseManifest } from '../../protocol/manifest.ts';
import { CtlError, exits, usageError } from '../ctlError.ts';
import { openRegistries } from '../api/registries.ts';
import { withBundleFaults } from '../input/bundleFaults.ts';
import { collectOption } from '../input/options.ts';
import { pinImages } from '../input/pinImages.ts';
import { formatImport } from '../output/importText.ts';
import type { Result, Run, Session } from '../session.ts';

interface ImportOptions {
  env: string;
  out?: string;
  name?: string;
  file?: string[];
  profile?: string[];
  envFile: string;
  image?: [string, string][];
  pin?: boolean;
  secret?: string[];
  variable?: [string, string | null][];
}

const { signal } = new AbortController();

/** `deployctl bundle import`. */
export function addBundleImport(bundle: Command, run: Run): void {
  bundle
    .command('import')
    .description('make a bundle of a compose project, and tell what it changed and what is left to decide')
    .argument('<source>', 'the directory of the project, or its compose file')
    .requiredOption('--env <env>', 'the env that the bundle is for')
    .option('--out <directory>', 'the bundle, which is made (default: NAME-bundle)')
    .option('--name <name>', 'its name (default: that of the project)')
    .option(
      '-f, --file <file>',
      'a compose file below the source, instead of those that compose finds; repeatable',
      collectOption,
    )
    .option(
      '--profile <profile>',
      'a profile that the bundle chooses, instead of those of COMPOSE_PROFILES; repeatable',
      collectOption,
    )
    .option('--env-file <file>', 'values of variables, a file below the source', '.env')
    .option('--image <service=reference>', 'the image of a service, instead of its build; repeatable', collectPair)
    .option('--pin', 'write the digest that each image has now into the bundle, as its registry tells it')
    .option('--secret <name>', 'a variable that is a secret; repeatable', collectOption)
    .option('--variable <name[=value]>', 'a variable that is none, with its value; repeatable', collectVariable)
    .action(run(importBundle));
}

async function importBundle(session: Session, [path]: [string], options: ImportOptions): Promise<Result> {
  return withBundleFaults(async () => {
    const { directory, file } = await placesOf(path);
    const out = options.out === undefined ? null : resolve(options.out);
    const source = readSource({ directory, file, out, options });
    const { project, target } = source;
    if (!(await isFree(target)))
      throw usageError(
        'FILE_EXISTS',
        `${target} is there already`,
        'name another directory by --out: nothing is overwritten',
      );
    const bundle = options.pin === true ? await pinned(source, session) : source.bundle;
    await writeImportedBundle(target, { bundle, project }, signal);
    const verdict = await judgeImportedBundle(target, limits, signal);
    const imported = { directory: target, bundle, ...verdict };
    const isDone = bundle.report.undecided.length === 0 && verdict.plan.refusals.length === 0;
    const { manifest, composeFiles, copies, report } = bundle;
    const files = ['manifest.json', ...composeFiles.keys(), ...copies.keys()];
    return {
      json: { directory: target, manifest, files, ...report, ...verdict },
      text: formatImport(imported),
      exit: isDone ? exits.done : exits.failed,
    };
  });
}

/** The project's directory, and the compose file that was named. */
async function placesOf(source: string): Promise<{ directory: string; file: string | null }> {
  const path = resolve(source);
  const stats = await stat(path).catch((error: unknown) => {
    throw diskFault('read', path, error);
  });
  return stats.isDirectory() ? { directory: path, file: null } : { directory: dirname(path), file: basename(path) };
}

interface SourceRequest {
  directory: string;
  file: string | null;
  out: string | null;
  options: ImportOptions;
}

/** A project that was read, and the bundle that it makes. */
interface Source {
  bundle: ImportedBundle;
  project: DiskProject;
  /** The bundle's directory. */
  target: string;
  /** Makes the bundle anew, with these pins. */
  importAgain: (pins: ImportChoices['pins']) => ImportedBundle;
}

function readSource({ directory, file, out, options }: SourceRequest): Source {
  const inProject = (path: string) => relative(directory, resolve(directory, path)) || '.';
  const chosen = options.file?.map(inProject) ?? (file === null ? [] : [file]);
  const envFile = inProject(options.envFile);
  const project = openDiskProject(directory, out ?? '');
  const found = findProject(project, chosen, envFile);
  if (found.files.length === 0)
    throw usageError('SOURCE_INVALID', `${directory} has no compose file`, 'name the files by -f');
  const name = options.name ?? found.name ?? basename(directory);
  const choices = choicesOf(options, { name, envFile, profiles: found.profiles });
  const importAgain = (pins: ImportChoices['pins']) => {
    const made = importProject(found.files, project, { ...choices, ...(pins && { pins }) });
    if ('problems' in made)
      throw new CtlError({ exit: exits.failed, code: 'SOURCE_INVALID', message: made.problems.join('; ') });
    return made;
  };
  const bundle = importAgain(undefined);
  const parsed = parseManifest(JSON.stringify(bundle.manifest), options.env);
  if ('refusal' in parsed) throw usageError(parsed.refusal.code, parsed.refusal.detail);
  return { bundle, project, target: out ?? resolve(`${name}-bundle`), importAgain };
}

async function pinned({ bundle, importAgain }: Source, { io }: Session): Promise<ImportedBundle> {
  const registries = openRegistries(io.env);
  try {
    return importAgain(await pinImages(importedImages(bundle), registries));
  } finally {
    registries.close();
  }
}

function choicesOf(
  { env, profile, image = [], secret = [], variable = [] }: ImportOptions,
  { name, envFile, profiles }: { name: string; envFile: string; profiles: string[] },
): ImportChoices {
  return {
    ...{ name, env, envFile },
    profiles: profile ? { names: profile, by: '--profile' } : { names: profiles, by: `COMPOSE_PROFILES of ${envFile}` },
    ...{ images: new Map(image), secrets: new Set(secret), variables: new Map(variable) },
  };
}

function collectPair(text: string, previous: [string, string][] = []): [string, string][] {
  const at = text.indexOf('=');
  if (at < 1 || at === text.length - 1) throw new InvalidArgumentError('It must be SERVICE=REFERENCE.');
  return [...previous, [text.slice(0, at), text.slice(at + 1)]];
}

function collectVariable(text: string, previous: [string, string | null][] = []): [string, string | null][] {
  const at = text.indexOf('=');
  return [...previous, at < 0 ? [text, null] : [text.slice(0, at), text.slice(at + 1)]];
}
