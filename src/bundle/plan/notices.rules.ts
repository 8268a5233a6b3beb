import type { RefusedFault } from '../../../machines/refusals.ts';
import { formatSize, printable } from '../../core/text.rules.ts';
import { entriesOf, itemsOf, textOf, textsOf, valuesAt } from '../compose/composeNode.rules.ts';
import { publishedPortsOf } from '../compose/networks.rules.ts';
import { bytesOf } from '../policy/quantities.rules.ts';
import { type BundleToStart, type EngineMeans, placeOf, type ReadService } from './bundleToStart.rules.ts';
import { argumentsOf, type Execution, executionsOf } from './executions.rules.ts';
import { architectureOf, processorNotices, runsOn, type ServiceImages } from './images.rules.ts';
import { memoryLimitOf, replicasOf } from './resourceFaults.rules.ts';
import type { WrittenService } from './writtenServices.rules.ts';

/** The beginning of a file of the bundle. */
export interface FileHead {
  /** Each byte as one character. */
  text: string;
  isExecutable: boolean;
}

/** The facts for notices. */
export interface NoticeFacts {
  start: BundleToStart;
  /** The end of each service, by the compose files. */
  written: readonly WrittenService[];
  /** By path of the bundle. */
  heads: ReadonlyMap<string, FileHead>;
  /** Null where no host is known. */
  engine: EngineMeans | null;
  images: ServiceImages;
}

/** The parts that will probably not work, by the files of a bundle. */
export function noticesOf({ start, written, heads, engine, images }: NoticeFacts): RefusedFault[] {
  const { files, services, resolve } = start;
  const runs = executionsOf(services, { files, resolve, paths: heads.keys() });
  const ofFiles = runs.flatMap((run) => {
    const head = heads.get(run.path);
    const service = services.find(({ name }) => name === run.service);
    const architecture = architectureOf(service?.text('platform') ?? '') ?? engine?.architecture ?? null;
    return head === undefined
      ? []
      : fileNotice(run, head, architecture).map((problem) => noticeOf(start, run, problem));
  });
  const ofServices = services.flatMap((service) => [
    ...jobNotices(start, service, written),
    ...heapNotices(start, service),
    ...platformNotices(start, service, engine),
  ]);
  const ofImages = processorNotices(start, images, engine);
  return [...unique(ofFiles), ...ofServices, ...ofImages, ...reservationNotices(start, engine)];
}

interface Problem {
  text: string;
  cure: string;
}

function noticeOf({ files }: BundleToStart, { service, what, node }: Execution, { text, cure }: Problem): RefusedFault {
  return { text: `service ${printable(service)}: ${printable(what)} ${text}${placeOf(files, node)}`, cure };
}

function unique(notices: readonly RefusedFault[]): RefusedFault[] {
  return [...new Map(notices.map((notice) => [notice.text, notice])).values()];
}

const byteOrderMark = '\u00ef\u00bb\u00bf';
const lineCure = 'store it with lines that end with LF (`sed -i "s/\\r$//"`)';
const modeCure = 'make it executable (`chmod +x`) before the bundle is packed, or start it with a shell';

/** The fault of a file that a service runs; one problem at most. */
function fileNotice(run: Execution, { text, isExecutable }: FileHead, architecture: string | null): Problem[] {
  const { mode } = run;
  const isRun = mode === 'program' || mode === 'started' || mode === 'hook';
  const isBinary = /^(\x7fELF|MZ|\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe)/.test(text);
  const hasShell = /^#![^\n]*\b(ba|da|a|k|z)?sh\b/.test(text);
  if (isBinary) return isRun ? binaryNotice(text, { isExecutable, architecture }) : [];
  if (/^#![^\n]*\r\n/.test(text) && mode !== 'read' && (isRun || isExecutable))
    return [{ text: 'begins with a line that ends with CR LF, so that its interpreter is not found', cure: lineCure }];
  if (isShellScript(run, text) && text.includes('\r\n'))
    return [
      { text: 'has lines that end with CR LF, and the shell takes the CR for a part of each command', cure: lineCure },
    ];
  if (!isRun) return [];
  if (mode === 'hook')
    return isExecutable ? [] : [{ text: 'is not executable, and the image leaves it out', cure: modeCure }];
  if (!isExecutable && (mode === 'program' || hasShell)) return [{ text: 'is not executable', cure: modeCure }];
  if (mode !== 'program' || text.startsWith('#!')) return [];
  if (text.startsWith(`${byteOrderMark}#!`))
    return [{ text: 'begins with a byte order mark, which hides its interpreter', cure: 'store it without one' }];
  return [
    {
      text: 'is not a program and names no interpreter (exec format error)',
      cure: 'begin it with a line such as #!/bin/sh',
    },
  ];
}

function isShellScript({ mode, path }: Execution, text: string): boolean {
  return mode === 'read' || mode === 'sourced' || path.endsWith('.sh') || /^#![^\n]*sh\b/.test(text);
}

/** The processor of an ELF header, in the words of the kernel. */
const machines: Readonly<Record<number, string>> = {
  3: 'i386',
  21: 'ppc64le',
  22: 's390x',
  40: 'arm',
  62: 'x86_64',
  183: 'aarch64',
  243: 'riscv64',
};

function binaryNotice(
  text: string,
  { isExecutable, architecture }: { isExecutable: boolean; architecture: string | null },
): Problem[] {
  if (!text.startsWith('\x7fELF'))
    return [{ text: 'is a program for another system (exec format error)', cure: 'build it for Linux' }];
  const [low, high] = [text.charCodeAt(18), text.charCodeAt(19)];
  const machine = machines[text.charCodeAt(5) === 2 ? low * 256 + high : high * 256 + low];
  if (machine !== undefined && architecture !== null && !runsOn(machine, architecture))
    return [
      {
        text: `is a program for ${machine}, not for ${architecture} (exec format error)`,
        cure: 'build it for the processor of the host',
      },
    ];
  return isExecutable
    ? []
    : [{ text: 'is not executable', cure: 'make it executable (`chmod +x`) before the bundle is packed' }];
}

function platformNotices(
  { files }: BundleToStart,
  { name, node, text }: ReadService,
  engine: EngineMeans | null,
): RefusedFault[] {
  const wanted = architectureOf(text('platform'));
  const own = engine?.architecture ?? null;
  if (wanted === null || own === null || runsOn(wanted, own)) return [];
  return [
    {
      text: `service ${printable(name)}: platform ${printable(text('platform'))} differs from this host (${own})${placeOf(files, node('platform'))}`,
      cure: 'leave it out, or set up emulation on the host',
    },
  ];
}

const always = /^(always|unless-stopped|any)$/;
const endingProgram = /^(true|false|echo|printf|cp|mv|rm|mkdir|chown|chmod|touch|ln)$/;
const endingCommand =
  /(^|[\s:/])(migrate(:\w+)?|db:migrate|db:seed|createcachetable|collectstatic)(\s|$)|\b(alembic|flask db) upgrade\b|\bmigrate deploy\b/;
const endlessCommand = /^(sleep (infinity|inf|\d+d)|tail -[fF] \S+)$/;

/** Services that end and are restarted, and jobs that do not end. */
function jobNotices(
  { files, resolve }: BundleToStart,
  service: ReadService,
  written: readonly WrittenService[],
): RefusedFault[] {
  const { name, node, text } = service;
  const { kind, jobReason } = written.find((each) => each.name === name) ?? { kind: 'service', jobReason: null };
  const keys = node('deploy', 'restart_policy') === undefined ? ['restart'] : ['deploy', 'restart_policy', 'condition'];
  const restart = text(...keys);
  const at = (message: string, cure: string, key: string[]) => [
    { text: `service ${printable(name)}: ${message}${placeOf(files, node(...key))}`, cure },
  ];
  const argv = argumentsOf(node('entrypoint'), resolve).concat(argumentsOf(node('command'), resolve));
  const line = commandLine(argv);
  if (jobReason === 'awaited' && always.test(restart))
    return at(
      `others wait until it has ended, and ${keys.join('.')} ${restart} starts it again each time`,
      'write restart: "no", or on-failure',
      keys,
    );
  if (kind === 'job' && endlessCommand.test(line))
    return at('is a job, and its command never ends', 'give it another restart policy if it is to keep running', [
      'command',
    ]);
  if (jobReason === 'restart' && publishedPortsOf(service.layers, resolve).length > 0)
    return at(
      'is a job, since restart is "no", though it publishes ports: the apply waits until it has ended',
      'write restart: unless-stopped if it is to keep running, or leave ports out',
      keys,
    );
  return kind === 'service' && always.test(restart) && endsAtOnce(line)
    ? at(
        `its command ends, and ${keys.join('.')} ${restart} starts it again for ever`,
        'write restart: "no" for a job, or on-failure',
        keys,
      )
    : [];
}

/** The line that a shell gets, or the words of a command. */
function commandLine(argv: readonly string[]): string {
  const [program = '', option = '', line = ''] = argv;
  return /(^|\/)(ba|da|a)?sh$/.test(program) && /^-\w*c$/.test(option) ? line.trim() : argv.join(' ');
}

/** Whether every command of a line is one that ends; nothing is said of loops, jobs in the background and the like. */
function endsAtOnce(line: string): boolean {
  if (line === '' || /[`$(){}<>|]|(^|\s)(while|for|until|exec|wait|trap)\s|&(?!&)(?<!&&)/.test(line)) return false;
  const parts = line.split(/&&|;|\n/).map((part) => part.trim());
  return parts
    .filter(Boolean)
    .every((part) => endingProgram.test(part.split(/\s/, 1)[0] ?? '') || endingCommand.test(part));
}

/** The ways to set the memory of programs: the pattern, and the bytes of a number without a unit. */
const heapOptions: readonly { pattern: RegExp; unit: number }[] = [
  { pattern: /(?:^|[\s"'=])(-Xmx)(\d+)([kmgt]?)b?(?=[\s"']|$)/i, unit: 1 },
  { pattern: /(--max[-_]old[-_]space[-_]size=)(\d+)()/, unit: 2 ** 20 },
  { pattern: /(--maxmemory )(\d+)([kmg]?)b?(?=\s|$)/i, unit: 1 },
];

/** A heap that is as large as the memory limit: the rest of the process does not fit beside it. */
function heapNotices({ files, resolve }: BundleToStart, service: ReadService): RefusedFault[] {
  const { limit, limitKeys } = memoryLimitOf(service);
  if (limit === null || limit <= 0) return [];
  const environment = valuesAt(service.layers, 'environment').flatMap((value) =>
    value.kind === 'map' ? entriesOf(value).map(([, one]) => textOf(one) ?? '') : textsOf(itemsOf(value)),
  );
  const command = ['entrypoint', 'command'].map((key) => argumentsOf(service.node(key), resolve).join(' '));
  const texts = [...environment.map((text) => resolve(text) ?? ''), ...command];
  const found = texts.flatMap((text) =>
    heapOptions.flatMap(({ pattern, unit }) => {
      const [, option = '', number = '', suffix = ''] = pattern.exec(text) ?? [];
      const bytes = suffix === '' ? Number(number) * unit : (bytesOf(`${number}${suffix}`) ?? 0);
      return number !== '' && bytes >= limit
        ? [`${option.trim()}${option.endsWith(' ') ? ' ' : ''}${number}${suffix}`]
        : [];
    }),
  );
  return found.slice(0, 1).map((heap) => ({
    text: `service ${printable(service.name)}: ${limitKeys.join('.')} leaves no memory beside the heap of ${heap} (out of memory)${placeOf(files, service.node(...limitKeys))}`,
    cure: 'raise the limit, or let the program use less',
  }));
}

function reservationNotices({ services }: BundleToStart, engine: EngineMeans | null): RefusedFault[] {
  if (engine === null || engine.memoryBytes === 0) return [];
  const reserved = services.map((service) => {
    const written = service.text('mem_reservation') || service.text('deploy', 'resources', 'reservations', 'memory');
    return (bytesOf(written) ?? 0) * replicasOf(service);
  });
  const sum = reserved.reduce((total, bytes) => total + bytes, 0);
  return sum <= engine.memoryBytes
    ? []
    : [
        {
          text: `the services reserve ${formatSize(sum, Math.ceil)} of memory together, and this host has ${formatSize(engine.memoryBytes, Math.floor)}`,
          cure: 'reserve less, or use a host with more memory',
        },
      ];
}
