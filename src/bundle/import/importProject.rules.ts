import { Document, visit } from 'yaml';
import type { Manifest } from '../../../machines/types.ts';
import { permitKeys, type Permits } from '../../api/hostPolicy.rules.ts';
import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { variablesOf } from '../compose/variables.rules.ts';
import { candidatesOf } from '../plan/hostFaults.rules.ts';
import { type BundleFacts, noHost, type Plan, planOf } from '../plan/plan.rules.ts';
import { knownVariables, withKnownVariables } from '../plan/variables.rules.ts';
import { askedPrivileges } from '../policy/composePolicy.rules.ts';
import { anyHost, permitEntry, type Privilege } from '../policy/policyHost.rules.ts';
import { replaceContents, replaceEnvironmentSecrets, replaceWrittenSecrets } from './files.rules.ts';
import {
  type AppliedEffect,
  change,
  createVariableRegister,
  type ImportChoices,
  type ImportReport,
  type ImportWork,
  joinPath,
  leaveUndecided,
  partsOf,
  type ProjectTree,
  type SecretSource,
} from './importWork.rules.ts';
import { composeTextOf, partAt, textAt, textsOf, withoutAdditions } from './model.rules.ts';
import { replaceDeviceMounts, replaceMounts } from './mounts.rules.ts';
import { chooseProfiles, findRenamed, removeOwners, replaceBuilds, replaceKeys } from './keys.rules.ts';
import { ofProject, type ProjectTexts, type Renderings, templateOf } from './templates.rules.ts';

/** A bundle made of a compose project. */
export interface ImportedBundle {
  manifest: ImportedManifest;
  /** Texts of its compose files, by path. */
  composeFiles: Map<string, string>;
  /** Images of its services. */
  images: ReadonlyMap<string, string>;
  /** Project paths of the files that come along, by their paths in the bundle. */
  copies: Map<string, string>;
  report: ImportReport;
  effects: readonly AppliedEffect[];
  /** Bundle paths by project paths. */
  paths: ReadonlyMap<string, string>;
  /** The value that a variable has in the project, also a secret; null if it has none. A function, so that nothing prints it. */
  valueOf: (name: string) => string | null;
  /** Where the values of secrets are, by variable. */
  secretSources: ReadonlyMap<string, SecretSource>;
  /** Variables without a value that the project demands. */
  demanded: ReadonlySet<string>;
}

/** The keys of a manifest that an import sets. */
type ImportedManifest = Pick<Manifest, 'name' | 'env' | 'version' | 'sequence' | 'compose'> & {
  schema: 1;
  profiles?: string[];
  variables?: Record<string, string>;
  secrets: { var: string; path: string; field: string }[];
};

/** A project as compose reads it, and what its texts name. */
export interface ReadProject extends ProjectTexts {
  renderings: Renderings;
}

/** Makes a bundle of a compose project: its meaning to compose stays the same, except for the reported changes. */
export function importProject(project: ReadProject, tree: ProjectTree, choices: ImportChoices): ImportedBundle {
  const { renderings, texts, sources } = project;
  const chosen = [...choices.variables].flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  const values = new Map([...renderings.values, ...chosen, ['COMPOSE_PROJECT_NAME', `deployd-${choices.env}`]]);
  const known = [...sources].filter(([name]) => !choices.variables.has(name) || choices.variables.get(name) === null);
  const register = createVariableRegister(values, choices);
  for (const { environment } of Object.values(renderings.actual.secrets))
    if (typeof environment === 'string') register.secrets.add(environment);
  const began: ImportWork = {
    ...{ tree, choices, texts, register, model: renderings.actual, effects: [] },
    report: { changes: [], undecided: [], inactive_profiles: [], renamed: [] },
    ...{ copies: new Map(), paths: new Map(), volumes: new Map() },
    secretSources: new Map(known.map(([name, path]) => [name, { path, isEnvFile: true }])),
  };
  const model = withoutAdditions(templateOf(renderings, began), `deployd-${choices.env}`);
  const work: ImportWork = { ...began, model };
  register.takeNames(textsOf(model).flatMap((text) => variablesOf(text).uses.map(({ name }) => name)));
  for (const replace of steps) replace(work);
  withoutAdditions(model, `deployd-${choices.env}`);
  const profiles = chooseProfiles(work);
  const { copies, report, effects, paths, secretSources } = work;
  return {
    manifest: manifestOf(profiles, supplyVariables(work), choices),
    composeFiles: new Map([[composeName, composeTextOf(model)]]),
    images: new Map(
      partsOf(work).flatMap(({ name, part }) => ('image' in part ? [[name, textAt(part, 'image')]] : [])),
    ),
    ...{ copies, report, effects, paths, secretSources },
    ...{ valueOf: register.valueOf, demanded: renderings.demanded },
  };
}

/** The compose file of an imported bundle. */
export const composeName = 'compose.yaml';

/** They replace what a bundle may not have, or has in another form. */
const steps: readonly ((work: ImportWork) => void)[] = [
  ...[replaceBuilds, replaceContents, replaceEnvironmentSecrets, replaceWrittenSecrets],
  ...[replaceDeviceMounts, replaceMounts, replaceKeys],
  ...[removeOwners, findRenamed, reportLosses],
];

/** Forms of compose files that compose reads and does not print. */
const lostForms: readonly [pattern: RegExp, what: string, why: string][] = [
  [/(^|\s)#/m, 'comments are left out', 'the bundle contains what compose reads'],
  [/(^|[\s[{,])&[A-Za-z]/m, 'anchors are left out', 'the bundle contains what compose reads'],
  [/^\s*x-[\w-]+:/m, 'x- sections are left out', 'the bundle contains what compose reads'],
  [/env_file:/, 'env_file is environment now', 'a later change of the file has no effect'],
  [/label_file:/, 'label_file is labels now', 'a later change of the file has no effect'],
];

function reportLosses(work: ImportWork): void {
  const files = [...work.texts.values()].filter((text) => /^(services|include):/m.test(text));
  for (const [pattern, what, why] of lostForms)
    if (files.some((text) => pattern.test(text))) change(work, { owner: 'project', key: 'files' }, [what, why]);
  const nested = files.flatMap((text) =>
    [...text.matchAll(/\$\{\w+:?-[^}]*?(?<!\$)(?:\$\$)*\$\{?([A-Za-z_]\w*)/g)].map(([, name = '']) => name),
  );
  const used = new Set(textsOf(work.model).flatMap((text) => variablesOf(text).uses.map(({ name }) => name)));
  const isSet = (name: string) =>
    [...work.texts.values()].some((text) => new RegExp(`^(export )?${name}=`, 'm').test(text));
  for (const name of nested.filter((one) => !used.has(one) && !work.register.values.has(one) && !isSet(one)))
    change(work, ofProject, [
      `${name} is left out`,
      'it has no value, and only the default of another variable names it',
    ]);
}

/** The variables that the bundle's manifest names. */
interface SuppliedVariables {
  /** Names of secrets. */
  secrets: string[];
  /** Values of the others. */
  variables: Map<string, string>;
}

/** Decides each variable that the model uses: a secret, a variable of the manifest, or left open. */
function supplyVariables(work: ImportWork): SuppliedVariables {
  const uses = textsOf(work.model).flatMap((text) => variablesOf(text).uses);
  const bare = (['configs', 'secrets'] as const).flatMap((section) =>
    partsOf(work, section).map(({ part }) => textAt(part, 'environment')),
  );
  const nameless = partsOf(work).flatMap(({ part }) =>
    Object.entries(partAt(part, 'environment')).flatMap(([name, value]) => (value === null ? [name] : [])),
  );
  const named = [...bare.filter(Boolean), ...nameless];
  const required = new Set([...uses.filter((use) => use.required).map(({ name }) => name), ...named]);
  const supplied: SuppliedVariables = { secrets: [], variables: new Map() };
  for (const name of new Set([...uses.map((use) => use.name), ...named]))
    supply(name, required.has(name), work, supplied);
  return supplied;
}

function supply(name: string, isRequired: boolean, work: ImportWork, { secrets, variables }: SuppliedVariables): void {
  const { register, model } = work;
  const value = register.values.get(name) ?? null;
  const isDemanded = textsOf(model).some((text) => text.includes(`\${${name}:?`));
  const leave = (what: string, cure: string) => leaveUndecided(work, ofProject, [`${printable(name)} ${what}`, cure]);
  if (isReservedVariable(name))
    leave('is reserved', `write its value into the compose file, or --variable ${name}=VALUE`);
  else if (register.secrets.has(name) || register.isSecret(name)) {
    if (isRequired || value !== null || register.secrets.has(name)) secrets.push(name);
  } else if (value !== null && (value !== '' || !isDemanded)) variables.set(name, value);
  else if (isRequired || value !== null) {
    // Empty, as compose takes it, unless the project demands a value (`${NAME:?}`).
    if (!isDemanded) variables.set(name, '');
    const what = isDemanded ? 'has no value' : 'has no value, so it is empty, as compose takes it';
    leave(what, `--variable ${name}=VALUE or --secret ${name}`);
  }
}

function manifestOf(
  profiles: string[],
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
    ...{ schema: 1, name, env, version: '1', sequence: 1, compose: [composeName] },
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
  /** The services that could be replaced start-first, and do not ask for it. */
  start_first: string[];
}

/** Validates a bundle as a host does that grants all needed permits. */
export function verdictOf(facts: BundleFacts): ImportVerdict {
  const { manifest, project, releaseFiles, texts } = facts;
  const context = { manifest, releaseFiles, texts, projectName: `deployd-${manifest.env}` };
  const permits = permitsOf(askedPrivileges(project, context));
  const policyHost = { ...anyHost, policy: { ...anyHost.policy, permit: permits } };
  return { permits, plan: planOf(facts, { ...noHost, policyHost }), start_first: candidatesOf(facts) };
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
  const document = new Document({ policy: { permit: permits } }, { version: '1.1' });
  visit(document, { Seq: (_, list) => void (list.flow = true) });
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: false });
  return Object.keys(permits).length === 0 ? [] : text.trimEnd().split('\n');
}

/** One command for all secrets of an env file, and one for each other secret, which may be the content of a file. */
export function secretLines(
  { manifest: { env, secrets }, secretSources }: ImportedBundle,
  directory: string,
): string[] {
  const fileOf = (path: string) => shellWord(path.startsWith('/') ? path : `${directory}/${joinPath('.', path)}`);
  const lines: string[] = [];
  const pairs = new Map<string, string[]>();
  for (const { var: variable, field, path } of secrets) {
    const key = path.split('/').at(-1) ?? path;
    const source = secretSources.get(variable);
    const file = source === undefined ? '' : ` --from-file ${fileOf(source.path)}`;
    if (source?.isEnvFile === true) pairs.set(source.path, [...(pairs.get(source.path) ?? []), `${key}=${variable}`]);
    else lines.push(`deployctl secret set ${env} ${key} --field ${field}${file}   # ${variable}`);
  }
  for (const [file, all] of pairs)
    for (let at = 0; at < all.length; at += mostSecrets) {
      const some = all.slice(at, at + mostSecrets).join(' ');
      lines.push(`deployctl secret set ${env} ${some} --from-env-file ${fileOf(file)}`);
    }
  return lines;
}

/** The service sets at most so many secrets at once. */
const mostSecrets = 50;

/** A text as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** The image of each service with the values of the manifest's variables, but those that need a value which it lacks. */
export function importedImages({ manifest, images }: ImportedBundle): Map<string, string> {
  const variables = manifest.variables ?? {};
  const known = knownVariables({ sha: null, version: manifest.version, variables });
  const written = [...images].map(([name, image]) => [name, withKnownVariables(image, known)] as const);
  return new Map(written.filter(([, image]) => !image.includes('$')));
}
