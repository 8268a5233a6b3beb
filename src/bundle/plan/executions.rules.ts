import { normalizeBundlePath } from '../archive/archiveEntries.rules.ts';
import {
  type ComposeFile,
  type ComposeNode,
  itemsOf,
  textOf,
  textsOf,
  valueAt,
  valuesAt,
} from '../compose/composeNode.rules.ts';
import { normalizeHostPath } from '../policy/policyHost.rules.ts';
import type { ReadService, ResolveText } from './bundleToStart.rules.ts';

/**
 * The way a file is run: `program` by the kernel alone, `started` by a shell or by the first program of its image,
 * `read` by a shell as its script. `sourced` means that only its lines matter, `hook` that an image skips it if it is
 * not executable.
 */
export type RunMode = 'program' | 'started' | 'read' | 'sourced' | 'hook';

/** A file of the bundle that a service runs. */
export interface Execution {
  service: string;
  /** The key of the compose file, with the path in the container. */
  what: string;
  /** The path in the bundle. */
  path: string;
  mode: RunMode;
  node: ComposeNode | undefined;
}

/** A path in a container, and how it is run. */
interface RunPath {
  path: string;
  mode: RunMode;
}

const shells = /^(sh|bash|ash|dash|ksh|zsh)$/;
const wrappers = /^(tini|dumb-init|env|exec|su-exec|gosu|nice|nohup|time)$/;

/** The files of the bundle that services run, as far as the compose files show them. */
export function executionsOf(
  services: readonly ReadService[],
  { files, resolve, paths }: { files: readonly ComposeFile[]; resolve: ResolveText; paths: Iterable<string> },
): Execution[] {
  const all = [...paths];
  return services.flatMap((service) => {
    const mounts = mountsOf(service, { files, resolve });
    const found = (['entrypoint', 'command'] as const).flatMap((key) => runsOf(service, key, resolve));
    const probes = probesOf(service, resolve);
    const base = service.text('working_dir');
    const named = [...found, ...probes].flatMap(({ key, node, path, mode }) => {
      const absolute = path.startsWith('/')
        ? path
        : base.startsWith('/') && path.startsWith('./')
          ? `${base}/${path.slice(2)}`
          : '';
      const source = sourceOf(absolute, mounts);
      return source === null ? [] : { service: service.name, what: `${key} ${path}`, path: source, mode, node };
    });
    return [...named, ...hooksOf(service, mounts, all)];
  });
}

type KeyedRun = RunPath & { key: string; node: ComposeNode | undefined };

function runsOf(service: ReadService, key: 'entrypoint' | 'command', resolve: ResolveText): KeyedRun[] {
  const node = service.node(key);
  const hasEntrypoint = argumentsOf(service.node('entrypoint'), resolve).length > 0;
  const own = argumentsOf(node, resolve);
  if (key === 'command' && hasEntrypoint) return [];
  const argv = key === 'entrypoint' ? [...own, ...argumentsOf(service.node('command'), resolve)] : own;
  if (own.length === 0) return [];
  const first: RunMode = key === 'entrypoint' ? 'program' : 'started';
  return runPathsOf(argv, first).map((run) => ({ ...run, key, node }));
}

function probesOf(service: ReadService, resolve: ResolveText): KeyedRun[] {
  const node = service.node('healthcheck', 'test');
  const [form = '', ...rest] = node?.kind === 'list' ? textsOf(node.items).map((text) => resolve(text) ?? '') : [];
  const line =
    node?.kind === 'list' ? (form === 'CMD-SHELL' ? (rest[0] ?? '') : '') : (resolve(textOf(node) ?? '') ?? '');
  const runs = form === 'CMD' ? runPathsOf(rest, 'program') : shellRuns(line);
  return runs.map((run) => ({ ...run, key: 'healthcheck.test', node }));
}

/** The words of a command; the words of a text as compose divides it. */
export function argumentsOf(node: ComposeNode | undefined, resolve: ResolveText): string[] {
  if (node === undefined) return [];
  const texts = node.kind === 'list' ? textsOf(node.items).map((text) => resolve(text) ?? '') : null;
  return texts ?? wordsOf(resolve(textOf(node) ?? '') ?? '');
}

function wordsOf(line: string): string[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  );
}

/** The programs that the words of a command run. */
function runPathsOf([program = '', ...rest]: readonly string[], mode: RunMode): RunPath[] {
  const name = program.slice(program.lastIndexOf('/') + 1);
  if (wrappers.test(name))
    return runPathsOf(
      rest.slice(
        Math.max(
          0,
          rest.findIndex((word) => /^[./]/.test(word)),
        ),
      ),
      mode === 'program' ? 'program' : mode,
    );
  if (!shells.test(name)) return /^\.{0,1}\//.test(program) ? [{ path: program, mode }] : [];
  const own: RunPath[] = program.startsWith('/') ? [{ path: program, mode }] : [];
  const options = rest.findIndex((word) => !/^[-+]/.test(word));
  const [argument = ''] = rest.slice(Math.max(0, options));
  const isLine = rest.slice(0, Math.max(0, options)).some((word) => /^-\w*c\w*$/.test(word));
  if (options < 0) return own;
  return [...own, ...(isLine ? shellRuns(argument) : [{ path: argument, mode: 'read' as const }])];
}

/** The programs that a line for a shell runs, in the places where a command begins. */
function shellRuns(line: string): RunPath[] {
  const isMadeExecutable = /\bchmod\b/.test(line);
  return line.split(/&&|\|\||[;&|\n]|\$\(|`/).flatMap((part) => {
    const words = wordsOf(part);
    const begin = words.findIndex((word) => !/^(\w+=.*|exec|if|then|do|else|!|\(|\{)$/.test(word));
    const [program = '', ...rest] = begin < 0 ? [] : words.slice(begin);
    const [argument = ''] = rest;
    if (/^(\.|source)$/.test(program))
      return argument.startsWith('/') ? [{ path: argument, mode: 'sourced' as const }] : [];
    const runs = runPathsOf([program, ...rest], 'started');
    return runs.map((run) => (isMadeExecutable ? { ...run, mode: 'read' as const } : run));
  });
}

interface FileMount {
  target: string;
  source: string;
}

/** The files and directories of the bundle that a service mounts, the deepest target first. */
function mountsOf(
  service: ReadService,
  { files, resolve }: { files: readonly ComposeFile[]; resolve: ResolveText },
): FileMount[] {
  const volumes = valuesAt(service.layers, 'volumes')
    .flatMap(itemsOf)
    .flatMap((mount): FileMount[] => {
      const short = resolve(textOf(mount) ?? '')?.split(':') ?? [];
      const [source, target] =
        mount.kind === 'map'
          ? [resolve(textOf(valueAt(mount, 'source')) ?? ''), resolve(textOf(valueAt(mount, 'target')) ?? '')]
          : short;
      return bundleMount(source, target);
    });
  const contents = (['configs', 'secrets'] as const).flatMap((section) =>
    valuesAt(service.layers, section)
      .flatMap(itemsOf)
      .flatMap((one) => {
        const name = textOf(valueAt(one, 'source') ?? one) ?? '';
        const target = textOf(valueAt(one, 'target')) ?? (section === 'configs' ? `/${name}` : `/run/secrets/${name}`);
        const file = valuesAt(
          files.map(({ root }) => root),
          section,
          name,
          'file',
        ).at(-1);
        return bundleMount(`./${(textOf(file) ?? '').replace(/^\.\//, '')}`, target);
      }),
  );
  return [...volumes, ...contents].sort((one, other) => other.target.length - one.target.length);
}

function bundleMount(source: string | null | undefined, target: string | null | undefined): FileMount[] {
  const path = source?.startsWith('.') === true ? normalizeBundlePath(source) : null;
  return path && target ? [{ target: target.replace(/\/+$/, ''), source: path }] : [];
}

function sourceOf(path: string, mounts: readonly FileMount[]): string | null {
  const mount = mounts.find(({ target }) => path === target || path.startsWith(`${target}/`));
  return mount === undefined || path === '' ? null : `${mount.source}${path.slice(mount.target.length)}`;
}

/** Where widely used images look for scripts, and whether they leave out those that are not executable. */
const hookDirectories: readonly { path: string; images: RegExp; mode: RunMode }[] = [
  {
    path: '/docker-entrypoint-initdb.d',
    images: /(^|\/)(postgres|postgis|mysql|mariadb|mongo|timescaledb|pgvector)/,
    mode: 'sourced',
  },
  { path: '/docker-entrypoint.d', images: /(^|\/)(nginx|nginx-unprivileged)(:|@|$)/, mode: 'hook' },
];

function hooksOf(service: ReadService, mounts: readonly FileMount[], paths: readonly string[]): Execution[] {
  return hookDirectories
    .filter(({ images }) => images.test(service.text('image')))
    .flatMap(({ path: directory, mode }) =>
      paths.flatMap((path) => {
        const mount = mounts.find(({ source }) => path === source || path.startsWith(`${source}/`));
        const target = mount === undefined ? '' : `${mount.target}${path.slice(mount.source.length)}`;
        const isHook = target.startsWith(`${directory}/`) && target.endsWith('.sh');
        return isHook ? [{ service: service.name, what: `the script ${target}`, path, mode, node: undefined }] : [];
      }),
    );
}

/** A file of a container whose content is the value of a secret. */
export interface SecretFile {
  /** Its path in the container; it contains `$` if it is not known. */
  target: string;
  secret: string;
  /** Its mode as written; null for the usual one, which is not executable. */
  mode: string | null;
  node: ComposeNode;
}

/** The files of a service whose content is the value of a secret. */
export function secretFiles(
  composeFiles: readonly ComposeFile[],
  layers: readonly ComposeNode[],
  { secretOf, resolve }: { secretOf: (text: string) => string | null; resolve: (text: string) => string },
): SecretFile[] {
  return (['configs', 'secrets'] as const).flatMap((kind) =>
    valuesAt(layers, kind)
      .flatMap(itemsOf)
      .flatMap((node): SecretFile[] => {
        const source = textOf(node) ?? textOf(valueAt(node, 'source')) ?? '';
        const directory = kind === 'configs' ? '/' : '/run/secrets/';
        const target = resolve(textOf(valueAt(node, 'target')) ?? source);
        const definitions = composeFiles.map(({ root }) => valueAt(root, kind, source));
        const texts = definitions.flatMap((each) =>
          ['environment', 'content'].map((key) => textOf(valueAt(each, key))),
        );
        const secret = texts.map((text) => secretOf(text ?? '')).find((found) => found !== null);
        if (secret === undefined) return [];
        const path = normalizeHostPath(target.startsWith('/') ? target : `${directory}${target}`);
        return [{ target: path, secret, mode: textOf(valueAt(node, 'mode')), node }];
      }),
  );
}

/** Directories of programs, libraries and start scripts in images, and names of scripts and libraries. */
const programDirectories =
  /^\/(usr\/|usr\/local\/|opt\/[^/]+\/)?lib(32|64|x32|exec)?\/|^\/etc\/(cron[^/]*|init|profile\.d|rc\d?\.d|sudoers\.d|pam\.d|ld\.so\.conf\.d|services\.d|s6-[^/]*|service|systemd|runit)\/|\/(s?bin|cgi-bin|node_modules|(site|dist)-packages|[^/]*(init|entrypoint[^/]*)\.d)\//;
const programNames =
  /^\/etc\/(ld\.so\.\w+|profile|bash\.bashrc|crontab|sudoers|inittab|rc\.local)$|entrypoint$|\/\.(profile|m?kshrc|(bash|z)(rc|env|_?profile|_?login|_?logout))$|\.(sh|bash|zsh|ksh|fish|ps1|py[cdowx]?|p[lm]|rb|[cm]?[jt]sx?|php\d?|phtml|lua|tcl|awk|jar|war|class|so(\.[\d.]+)?|dll|exe|node|wasm)$/i;

/** Whether a file of a container is executable, or stands where an image may have a program, a library or a script. */
export function isForProgram({ target, mode }: SecretFile): boolean {
  const bits = mode === null ? 0 : /^0o?[0-7]+$/.test(mode) ? parseInt(mode.replace('o', ''), 8) : Number(mode);
  if (!Number.isInteger(bits) || (bits & 0o111) !== 0 || target.includes('$')) return true;
  if (target.startsWith('/run/secrets/')) return false;
  return programDirectories.test(target) || programNames.test(target);
}
