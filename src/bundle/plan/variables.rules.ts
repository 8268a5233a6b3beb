import { type Refusal, type RefusedFault, refusalWith } from '../../../machines/refusals.ts';
import type { Manifest, Sha } from '../../../machines/types.ts';
import { isReservedVariable } from '../../api/manifest.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { type ComposeProject, envFilesOf } from '../compose/composeProject.rules.ts';
import {
  type ComposeNode,
  entriesOf,
  isText,
  itemsOf,
  type Mapping,
  type Scalar,
  scalarsOf,
  textOf,
  textsOf,
  valueAt,
  valuesAt,
} from '../compose/composeNode.rules.ts';
import { effectiveValue, type MergedFiles, mergedFilesOf } from '../compose/services.rules.ts';
import { parseEnvAssignments, textParts, variablesOf, type VariableUse } from '../compose/variables.rules.ts';
import { placeOf } from './bundleToStart.rules.ts';
import { isForProgram, secretFiles } from './executions.rules.ts';

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
 * It may be a whole argument of a program, but no part of a script. The manifest must name the service then, because the
 * list of programs that run an argument cannot be complete. Keys that configure the program, such as `environment`, may have
 * any value, except variables by which run times load code.
 */
export function validateSignedKeys(sources: SignedSources, manifest: Manifest): Refusal | null {
  const { project, texts } = sources;
  const unsigned = unsignedValues(project, manifest);
  const { faultOf, refuse, secretIn } = unsigned;
  const inEnvFiles = envFilesOf(project).flatMap(({ path, isRaw }) =>
    (isRaw ? [] : parseEnvAssignments(texts.get(path) ?? '').lines).flatMap(({ name, template }) =>
      loadsCode(name) ? faultOf(`${path}: ${name}`, secretIn(template), undefined) : [],
    ),
  );
  const resources = project.files.flatMap(({ root }) =>
    ['volume', 'network', 'config', 'secret'].flatMap((kind) =>
      entriesOf(valueAt(root, `${kind}s`)).flatMap(([name, definition]) => {
        const isFile = kind === 'config' || kind === 'secret';
        const signed = isFile ? ['file', 'name'].flatMap((key) => valuesAt([definition], key)) : [definition];
        return refuse(`${kind} ${name}`, 'it', signed);
      }),
    ),
  );
  const inServices = [...project.services].flatMap((service) => serviceFaults(project, unsigned, service));
  const faults = [
    ...new Map([...inServices, ...inEnvFiles, ...resources].map((fault) => [fault.text, fault])).values(),
  ];
  return faults.length === 0 ? null : refusalWith('COMPOSE_REFUSED', faults);
}

/** The secrets of a bundle, whose values nobody signs. */
interface UnsignedValues {
  /** The services that may have a secret as an argument. */
  argumentOf: ReadonlyMap<string, readonly string[]>;
  /** Inserts the variables that are signed. */
  resolve: (text: string) => string;
  /** The first secret in a text; null without one. */
  secretIn: (text: string) => string | null;
  /** The fault that a secret decides something; none for null. */
  faultOf: (what: string, secret: string | null, node: ComposeNode | undefined, cure?: string) => RefusedFault[];
  /** The faults of all texts below some nodes. */
  refuse: (owner: string, key: string, nodes: readonly ComposeNode[], cure?: string) => RefusedFault[];
}

function unsignedValues({ files }: ComposeProject, { secrets, variables }: Manifest): UnsignedValues {
  const unsigned = secrets.filter((secret) => !Object.hasOwn(variables, secret.var));
  const argumentOf = new Map(unsigned.map((secret) => [secret.var, secret.argument_of ?? []]));
  const known = new Map(Object.entries(variables));
  const secretIn = (text: string) => variablesOf(text).uses.find(({ name }) => argumentOf.has(name))?.name ?? null;
  const faultOf: UnsignedValues['faultOf'] = (what, secret, node, cure = signedCure) => {
    const text = `${printable(what)} is decided by the secret ${secret}, which nobody signs${placeOf(files, node)}`;
    return secret === null ? [] : [{ text, cure }];
  };
  return {
    ...{ argumentOf, secretIn, faultOf },
    resolve: (text) => withKnownVariables(text, known),
    refuse: (owner, key, nodes, cure) =>
      nodes.flatMap(scalarsOf).flatMap((node) => faultOf(`${owner}: ${key}`, secretIn(node.text), node, cure)),
  };
}

type Service = [name: string, layers: readonly ComposeNode[]];

function serviceFaults(project: ComposeProject, unsigned: UnsignedValues, [name, layers]: Service): RefusedFault[] {
  const { argumentOf, faultOf, refuse, secretIn } = unsigned;
  const owner = `service ${name}`;
  const keyed = signedKeys.flatMap((key) => refuse(owner, key, valuesAt(layers, key)));
  const resources = refuse(owner, 'deploy', valuesAt(layers, 'deploy', 'resources'));
  const disabled = refuse(owner, 'healthcheck', valuesAt(layers, 'healthcheck', 'disable'));
  const programs = (['command', 'healthcheck'] as const).flatMap((key) => {
    const { unsafe, whole } = secretArguments(layers, key);
    const undeclared = whole.filter(({ text }) => !argumentOf.get(secretIn(text) ?? '')?.includes(name));
    return [...refuse(owner, key, unsafe, argumentCure), ...refuse(owner, key, undeclared, declareCure(name))];
  });
  const loading = environmentOf(layers).flatMap(({ name: variable, text, node }) =>
    loadsCode(variable) ? faultOf(`${owner}: environment`, secretIn(text), node) : [],
  );
  return [
    ...keyed,
    ...resources,
    ...disabled,
    ...programs,
    ...loading,
    ...fileFaults(project, unsigned, [name, layers]),
  ];
}

/** Faults of files with the content of a secret, where a program, a library or a script is expected. */
function fileFaults({ files: sources }: ComposeProject, unsigned: UnsignedValues, [name, layers]: Service) {
  const { argumentOf, resolve, secretIn } = unsigned;
  const secretOf = (text: string) => (argumentOf.has(text) ? text : secretIn(text));
  const files = secretFiles(sources, layers, { secretOf, resolve });
  const owner = `service ${printable(name)}`;
  const run = (['entrypoint', 'command', 'healthcheck'] as const).flatMap((key) =>
    programWords(layers, key).flatMap((node): RefusedFault[] => {
      const secret = files.find(({ target }) => target === node.text)?.secret;
      const text = `${owner}: ${key} runs ${printable(node.text)}, whose content is the secret ${secret}, which nobody signs${placeOf(sources, node)}`;
      return secret === undefined ? [] : [{ text, cure: 'mount a file of the bundle there' }];
    }),
  );
  const replaced = files.filter(isForProgram).map(({ target, secret, node }) => ({
    text: `${owner}: ${printable(target)} may be a program, and its content is the secret ${secret}, which nobody signs${placeOf(sources, node)}`,
    cure: 'mount it as a file below /run/secrets that is not executable, or mount a file of the bundle there',
  }));
  return [...run, ...replaced];
}

/** The compose files of a bundle, and the texts of its env files by path. */
interface SignedSources {
  project: ComposeProject;
  texts: ReadonlyMap<string, string>;
}

const signedCure = 'write it out, or into variables of manifest.json, which are signed';
const argumentCure = 'pass it by environment, and write $$VAR for it in a script';
const declareCure = (service: string) =>
  `${argumentCure}; if the program does not run the argument, add ${printable(service)} to argument_of of the secret in manifest.json`;

/** Variables by which the loader, shells and usual run times load code or find programs. */
const loaders =
  /^(LD_\w+|PATH|BASH_(ENV|FUNC_.*)|GIT_(SSH(_COMMAND)?|EXEC_PATH)|LUA_INIT\w*|CLASSPATH|NODE_(OPTIONS|PATH|REPL_EXTERNAL_MODULE)|BUN_OPTIONS|_?JAVA(_TOOL)?_OPTIONS|JDK_JAVA_OPTIONS|(\w+_)?(JAVA|JVM|CATALINA)_OPTS|PERL(5OPT|5?LIB|5DB)|RUBY(OPT|LIB)|PYTHON(PATH|HOME|STARTUP)|DOTNET_STARTUP_HOOKS)$/;

/** Whether a variable loads code, or has a name that is not in the bundle. */
function loadsCode(name: string): boolean {
  return loaders.test(name) || name.includes('$');
}

interface EnvironmentEntry {
  name: string;
  /** The text of its value, or of the whole entry. */
  text: string;
  node: ComposeNode;
}

/** The entries of `environment`; a name without a value has the value of the variable with that name. */
function environmentOf(layers: readonly ComposeNode[]): EnvironmentEntry[] {
  return valuesAt(layers, 'environment').flatMap((environment) => [
    ...entriesOf(environment).map(([name, node]) => ({ name, text: textOf(node) ?? `$${name}`, node })),
    ...(environment.kind === 'list' ? environment.items : []).map((node) => {
      const text = textOf(node) ?? '';
      const name = text.replace(/=.*$/s, '');
      return { name, text: /[=$]/.test(text) ? text : `$${name}`, node };
    }),
  ]);
}

interface SecretArguments {
  /** Arguments whose variables could name a program, be more or less than one argument, or be a part of a script. */
  unsafe: ComposeNode[];
  /** Other arguments, each the whole value of a variable. */
  whole: Scalar[];
}

/** The arguments of a program that may contain variables, and the arguments that may not. */
function secretArguments(layers: readonly ComposeNode[], key: 'command' | 'healthcheck'): SecretArguments {
  const node = key === 'command' ? effectiveValue(layers, key) : effectiveValue(layers, key, 'test');
  const items = itemsOf(node);
  const [form] = textsOf(items);
  if (node?.kind !== 'list' || (key === 'healthcheck' && form !== 'CMD')) return { unsafe: [...items], whole: [] };
  const words = key === 'command' ? entrypointOf(layers) : [];
  const found: SecretArguments = { unsafe: [], whole: [] };
  for (const item of key === 'command' ? items : items.slice(1)) {
    const text = textOf(item) ?? '';
    const isValue = takesValues(words) && !scriptOptions.test(words.at(-1) ?? '');
    if (isText(item) && isWholeVariable(text) && isValue) found.whole.push(item);
    else found.unsafe.push(item);
    words.push(text);
  }
  return found;
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
