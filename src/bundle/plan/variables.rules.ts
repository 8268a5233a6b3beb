import { type Refusal, type RefusedFault, refusalWith } from '../../../machines/refusals.ts';
import type { Manifest, Sha } from '../../../machines/types.ts';
import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { type ComposeProject, envFilesOf } from '../compose/composeProject.rules.ts';
import {
  type ComposeNode,
  entriesOf,
  itemsOf,
  type Mapping,
  scalarsOf,
  textOf,
  textsOf,
  valueAt,
  valuesAt,
} from '../compose/composeNode.rules.ts';
import { effectiveValue, type MergedFiles, mergedFilesOf } from '../compose/services.rules.ts';
import { parseEnvAssignments, textParts, variablesOf, type VariableUse } from '../compose/variables.rules.ts';
import { placeOf } from './bundleToStart.rules.ts';

/** Variables that the agent adds to `.env`. */
const agentVariables = ['DEPLOYD_ENV', 'DEPLOYD_SHA', 'DEPLOYD_VERSION'];

/** Compose files, and the texts of the env files that they reference, by path. */
interface BundleSources {
  project: MergedFiles;
  texts: ReadonlyMap<string, string>;
}

/** ENV_INCOMPLETE with every variable that neither the manifest nor the agent sets, or null (spec §9). */
export function validateVariables(bundle: BundleSources, manifest: Manifest): Refusal | null {
  const logins = new Set(manifest.registries.flatMap(({ username_var, password_var }) => [username_var, password_var]));
  const secrets = manifest.secrets.map((secret) => secret.var).filter((name) => !logins.has(name));
  const supplied = new Set([...Object.keys(manifest.variables), ...secrets, ...agentVariables]);
  const unresolved = unresolvedVariables(bundle, supplied);
  const cure = 'add them to variables or secrets of manifest.json, or give them a default';
  return unresolved.length === 0
    ? null
    : refusalWith('ENV_INCOMPLETE', [{ text: `unresolved: ${unresolved.join(', ')}`, cure }]);
}

/**
 * Names that the files require and `supplied` lacks, sorted, without duplicates. A reserved variable is required despite a
 * default, because compose would take its value from its own environment.
 */
export function unresolvedVariables(sources: BundleSources, supplied: ReadonlySet<string>): string[] {
  const needed = variableUses(sources).filter(({ name, required }) => required || isReservedVariable(name));
  const missing = needed.map(({ name }) => name).filter((name) => !supplied.has(name));
  return [...new Set(missing)].sort().map(printable);
}

/** Every use of a variable in the files, and in the env files that they name. */
function variableUses({ project, texts }: BundleSources): VariableUse[] {
  const inFiles = project.files.flatMap(({ root }) => [
    ...scalarsOf(root).flatMap(({ text }) => variablesOf(text).uses),
    ...bareVariableNames(root),
  ]);
  const inEnvFiles = envFilesOf(project).flatMap(({ path, isRaw }) =>
    isRaw ? [] : envFileUses(texts.get(path) ?? ''),
  );
  return [...inFiles, ...inEnvFiles];
}

/** Variables used in the values of an env file, except those that an earlier line sets. */
function envFileUses(text: string): VariableUse[] {
  const set = new Set<string>();
  return parseEnvAssignments(text).lines.flatMap(({ name, template }) => {
    const uses = variablesOf(template).uses.filter((use) => isReservedVariable(use.name) || !set.has(use.name));
    set.add(name);
    return uses;
  });
}

/** Names without `$`: without a value in `environment`, or as the `environment` of a config or secret. */
function bareVariableNames(root: ComposeNode): VariableUse[] {
  const services = entriesOf(valueAt(root, 'services')).map(([, service]) => service);
  const hooks = services.flatMap((service) =>
    ['post_start', 'pre_start', 'pre_stop'].flatMap((key) => itemsOf(valueAt(service, key))),
  );
  const contents = ['configs', 'secrets'].flatMap((key) => entriesOf(valueAt(root, key)).map(([, content]) => content));
  return [
    ...[...services, ...hooks].flatMap((owner) => namesWithoutValue(valueAt(owner, 'environment'))),
    ...contents
      .flatMap((content) => textOf(valueAt(content, 'environment')) ?? [])
      .filter((name) => !name.includes('$')),
  ].map((name) => ({ name, required: true }));
}

/** The names in an `environment` whose value compose takes from its own environment. */
export function namesWithoutValue(environment: ComposeNode | undefined): string[] {
  const unset = entriesOf(environment).filter(([, value]) => value.kind === 'scalar' && value.isNull);
  const items = environment?.kind === 'list' ? environment.items.flatMap((item) => textOf(item) ?? []) : [];
  return [...unset.map(([name]) => name), ...items.filter((item) => !/[=$]/.test(item))];
}

/**
 * For each service with values of secrets in its own text, not in mounted files, the variables: a swarm shows these
 * values to everyone who may inspect services.
 */
export function shownSecrets({ project, texts }: BundleSources, secrets: readonly string[]): string[] {
  return [...project.services].flatMap(([name, layers]) => {
    const alone = mergedFilesOf(layers.map((layer) => ({ root: mapping('services', mapping(name, layer)) })));
    const used = new Set(variableUses({ project: alone, texts }).map((use) => use.name));
    const shown = secrets.filter((secret) => used.has(secret)).toSorted();
    return shown.length === 0
      ? []
      : [`service ${printable(name)}: ${shown.join(', ')}, to whoever may inspect services`];
  });
}

/** Keys of a service that decide what runs, and with which rights: a host that requires signatures lets no secret do that. */
const signedKeys = [
  ...['image', 'platform', 'pull_policy', 'entrypoint', 'working_dir', 'user', 'group_add', 'post_start', 'pre_start'],
  ...['pre_stop', 'volumes', 'volumes_from', 'tmpfs', 'configs', 'secrets', 'devices', 'device_cgroup_rules', 'gpus'],
  ...['cap_add', 'cap_drop', 'privileged', 'security_opt', 'sysctls', 'runtime', 'network_mode', 'pid', 'ipc', 'uts'],
  ...[
    'read_only',
    'userns_mode',
    'cgroup',
    'cgroup_parent',
    'use_api_socket',
    'annotations',
    'credential_spec',
    'env_file',
  ],
];

/**
 * COMPOSE_REFUSED for a host that requires signatures: the value of a secret, which nobody signs, decides what runs there.
 * It may be a whole argument of a program that the bundle names, but no part of a script. Keys that configure the
 * program, such as `environment`, may have any value.
 */
export function validateSignedKeys(project: ComposeProject, { secrets, variables }: Manifest): Refusal | null {
  const unsigned = new Set(secrets.map((secret) => secret.var).filter((name) => !Object.hasOwn(variables, name)));
  const secretIn = (text: string) => variablesOf(text).uses.find(({ name }) => unsigned.has(name))?.name ?? null;
  const refuse = (owner: string, key: string, nodes: readonly ComposeNode[], cure: string): RefusedFault[] =>
    nodes.flatMap(scalarsOf).flatMap((node) => {
      const name = secretIn(node.text);
      const text = `${printable(owner)}: ${key} is decided by the secret ${name}, which nobody signs${placeOf(project.files, node)}`;
      return name === null ? [] : [{ text, cure }];
    });
  /** Words that name a file whose content is a secret, where a program or a script is expected. */
  const filesThatRun = (name: string, layers: readonly ComposeNode[]): RefusedFault[] => {
    const files = secretFiles(project, layers, (text) => (unsigned.has(text) ? text : secretIn(text)));
    return (['entrypoint', 'command', 'healthcheck'] as const).flatMap((key) =>
      programWords(layers, key).flatMap((node) => {
        const secret = files.get(node.text);
        const text = `service ${printable(name)}: ${key} runs ${printable(node.text)}, whose content is the secret ${secret}, which nobody signs${placeOf(project.files, node)}`;
        return secret === undefined ? [] : [{ text, cure: 'mount a file of the bundle there' }];
      }),
    );
  };
  const inServices = [...project.services].flatMap(([name, layers]) => {
    const owner = `service ${name}`;
    const keyed = signedKeys.flatMap((key) => refuse(owner, key, valuesAt(layers, key), signedCure));
    const resources = refuse(owner, 'deploy', valuesAt(layers, 'deploy', 'resources'), signedCure);
    const disabled = refuse(owner, 'healthcheck', valuesAt(layers, 'healthcheck', 'disable'), signedCure);
    const programs = (['command', 'healthcheck'] as const).flatMap((key) =>
      refuse(owner, key, unsafeArguments(layers, key, secretIn), argumentCure),
    );
    return [...keyed, ...resources, ...disabled, ...programs, ...filesThatRun(name, layers)];
  });
  const resources = project.files.flatMap(({ root }) =>
    ['volume', 'network'].flatMap((kind) =>
      entriesOf(valueAt(root, `${kind}s`)).flatMap(([name, definition]) =>
        refuse(`${kind} ${name}`, 'it', [definition], signedCure),
      ),
    ),
  );
  const faults = [...new Map([...inServices, ...resources].map((fault) => [fault.text, fault])).values()];
  return faults.length === 0 ? null : refusalWith('COMPOSE_REFUSED', faults);
}

const signedCure = 'write it out, or into variables of manifest.json, which are signed';
const argumentCure =
  'pass it by environment, and write $$VAR for it in a script; as a list, it may be one whole argument of a program';

/** The arguments with a secret that could name a program, or be more or less than one argument, or a part of a script. */
function unsafeArguments(
  layers: readonly ComposeNode[],
  key: 'command' | 'healthcheck',
  secretIn: (text: string) => string | null,
): ComposeNode[] {
  const node = key === 'command' ? effectiveValue(layers, key) : effectiveValue(layers, key, 'test');
  if (node === undefined) return [];
  const items = itemsOf(node);
  if (node.kind !== 'list') return [...items];
  const [form] = textsOf(items);
  if (key === 'healthcheck' && form !== 'CMD') return [...items];
  const before = key === 'command' ? entrypointOf(layers) : [];
  const words = [...before, ...textsOf(key === 'command' ? items : items.slice(1))];
  return items.filter((item) => {
    const text = textOf(item) ?? '';
    const at = words.indexOf(text, before.length);
    const isValue = takesValues(words.slice(0, at)) && !scriptOptions.test(words[at - 1] ?? '');
    return secretIn(text) !== null && !(isWholeVariable(text) && isValue);
  });
}

/** The files of a service whose content is the value of a secret: their paths in the container, and the secrets. */
function secretFiles(
  project: ComposeProject,
  layers: readonly ComposeNode[],
  secretOf: (text: string) => string | null,
): Map<string, string> {
  const files = (['configs', 'secrets'] as const).flatMap((kind) =>
    valuesAt(layers, kind)
      .flatMap(itemsOf)
      .flatMap((node): [string, string][] => {
        const source = textOf(node) ?? textOf(valueAt(node, 'source')) ?? '';
        const directory = kind === 'configs' ? '/' : '/run/secrets/';
        const target = textOf(valueAt(node, 'target')) ?? source;
        const definitions = project.files.map(({ root }) => valueAt(root, kind, source));
        const texts = definitions.flatMap((each) =>
          ['environment', 'content'].map((key) => textOf(valueAt(each, key))),
        );
        const secret = texts.map((text) => secretOf(text ?? '')).find((found) => found !== null);
        return secret === undefined ? [] : [[target.startsWith('/') ? target : `${directory}${target}`, secret]];
      }),
  );
  return new Map(files);
}

/** The words of a program with its arguments where a program or a script is expected. */
function programWords(layers: readonly ComposeNode[], key: 'entrypoint' | 'command' | 'healthcheck') {
  const node = key === 'healthcheck' ? effectiveValue(layers, key, 'test') : effectiveValue(layers, key);
  const before = key === 'command' ? entrypointOf(layers) : [];
  const nodes = (node === undefined ? [] : scalarsOf(node)).slice(key === 'healthcheck' ? 1 : 0);
  const words = nodes.map(({ text }) => text);
  return nodes.filter((_, at) => !takesValues([...before, ...words.slice(0, at)]));
}

/** The words of the entrypoint; a text with quotes or backslashes could be any program, so it counts as a shell. */
function entrypointOf(layers: readonly ComposeNode[]): string[] {
  const node = effectiveValue(layers, 'entrypoint');
  const texts = textsOf(itemsOf(node));
  if (node?.kind === 'list') return texts;
  return texts.flatMap((text) => (/["'\\]/.test(text) ? ['sh'] : text.split(/\s+/).filter(Boolean)));
}

function isWholeVariable(text: string): boolean {
  const [part, ...more] = textParts(text);
  return more.length === 0 && typeof part === 'object' && (part?.inner === '' || part?.operator.endsWith('?') === true);
}

/** Shells, and programs that run one of their arguments as a script; a version may follow. */
const shells =
  /^((|b|a|d|k|z|mk|pdk|ok|po|ya|rba|fi|c|tc|pw|hu|lk|elvi|o|y|xon)sh|nu|busybox|toybox|eval|xargs|parallel|find|watch|script|expect|sed|ed|vim?|gdb|sqlite3?)$/i;
const interpreters =
  /^(python|pypy|node|nodejs|deno|bun|tsx|ts-node|perl|ruby|php|lua|luajit|[gmn]?awk|Rscript|R|julia|guile|tclsh|wish|groovy|jshell|erl|elixir|iex|racket|scala|octave|sbcl)$/;
/** Programs that run another program: its name is the first word, or the second one. */
const wrappers =
  /^(tini|dumb-init|catatonit|env|exec|nohup|time|setsid|stdbuf|strace|ltrace|sudo|doas|prlimit|unshare|nsenter|with-contenv|npx|bunx|init|.*entrypoint.*|.*\.sh)$/;
const wrappersWithWord =
  /^(su-exec|gosu|s6-setuidgid|nice|ionice|timeout|taskset|flock|chpst|setuser|setpriv|chroot|su|runuser|bundle|poetry|pipenv|uv|npm|yarn|pnpm|cargo|go)$/;
/** Options whose value is a script in many programs. */
const scriptOptions = /^-([a-z]{0,2}[cex]|-?(eval|exec|execute|expr|command|script))$/i;

/** The name of a program without its directory and version. */
function programName(word: string): string {
  const name = word.slice(word.lastIndexOf('/') + 1);
  return /\.sh$|entrypoint/.test(name) ? name : name.replace(/(?<=\w)[-.]?\d[\w.]*$|\.static$/, '');
}

/** Whether an argument after these words is only a value: they name a program, and it is not a shell. */
function takesValues(words: readonly string[]): boolean {
  const names = words.map(programName);
  if (names.some((name) => shells.test(name))) return false;
  const [first = ''] = names;
  const ownWords = wrappersWithWord.test(first) ? 2 : wrappers.test(first) ? 1 : 0;
  const isOption = (name: string | undefined) => name === undefined || /^-|^\w+=/.test(name);
  if (names.filter((name) => !isOption(name)).length <= ownWords) return false;
  const interpreter = names.findLastIndex((name) => interpreters.test(name));
  return interpreter < 0 || !isOption(names[interpreter + 1]);
}

function mapping(key: string, value: ComposeNode): Mapping {
  return { kind: 'map', entries: new Map([[key, value]]), line: value.line };
}

/** SECRET_PATH_REFUSED with every path outside the env's branch of the secretstore, or null (spec §9). */
export function validateSecretPaths({ env, secrets }: Manifest): Refusal | null {
  const branch = `deployd/data/${env}/see/`;
  const faults = secrets.flatMap((secret) => {
    const fault = secret.path.startsWith(branch) ? pathFault(secret.path.slice(branch.length)) : 'leads elsewhere';
    const text = `${secret.var}: ${printable(secret.path)} ${fault}`;
    return fault === null ? [] : [{ text, cure: `write a path below ${branch}` }];
  });
  return faults.length === 0 ? null : refusalWith('SECRET_PATH_REFUSED', faults);
}

/** Allows only characters that need no escaping in a URL and that no proxy or server interprets. */
function pathFault(path: string): string | null {
  const parts = path.split('/');
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return 'has an empty, "." or ".." part';
  return /^[A-Za-z0-9._~@+=:,/-]+$/.test(path) ? null : 'has a character other than letters, digits and ._~@+=:,-';
}

/** The sources of the values of variables that are not secrets. */
export interface VariableFacts {
  /** Null for a directory. */
  sha: Sha | null;
  version: string;
  /** The bundle's own variables. */
  variables: Readonly<Record<string, string>>;
}

/** The variables whose values are known: the variables of the bundle and two of the agent. */
export function knownVariables({ sha, version, variables }: VariableFacts): ReadonlyMap<string, string> {
  return new Map([
    ...Object.entries(variables),
    ['DEPLOYD_SHA', sha ?? 'of a directory'],
    ['DEPLOYD_VERSION', version],
  ]);
}

/** Inserts known variables into an image reference, but for those with an alternative or a nested default. */
export function withKnownVariables(image: string, known: ReadonlyMap<string, string>): string {
  const pattern = /\$(?<named>[A-Za-z_]\w*)|\$\{(?<braced>[A-Za-z_]\w*)(?:(?<operator>:?[-?])[^{}$]*)?\}/g;
  return image.replaceAll(pattern, (...match: unknown[]) => {
    const { named = '', braced = named, operator = '' } = match.at(-1) as Record<string, string | undefined>;
    const value = known.get(braced);
    return value === undefined || (value === '' && operator.startsWith(':')) ? String(match[0]) : value;
  });
}
