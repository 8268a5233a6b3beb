import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { Fault, type FaultDetails } from '../../../machines/fault.ts';
import type { Ending } from '../../../machines/endings.ts';
import type { Refusal, RefusedFault } from '../../../machines/refusals.ts';
import type { HostPolicy } from '../../api/hostPolicy.rules.ts';
import { unpack, type UnpackRequest } from '../../bundle/archive/archive.ts';
import type { BundleContents } from '../../bundle/archive/inventory.rules.ts';
import { type Compression, packContents, type PackedBundle } from '../../bundle/archive/pack.ts';
import { diffSideOf, planFor } from '../../bundle/bundleAt.ts';
import { type BundleDiff, diffOf, type DiffSide, withoutConfidential } from '../../bundle/bundleDiff.rules.ts';
import type { OrchestratorName } from '../../bundle/policy/policyHost.rules.ts';
import { bundleFactsOf, judgeContents, readBundle, type UnpackedBundle } from '../../bundle/readBundle.ts';
import { DiskFault } from '../../core/errors.rules.ts';

/**
 * The work on the content of archives, which an archive can make slow. `archiveWorkers.ts` does it in threads: the
 * requests and results are plain data. Each throws Faults.
 */
export const archiveTasks = {
  /** Unpacks an archive. */
  unpack: (request: Request<UnpackRequest>, signal: AbortSignal): Promise<BundleContents> =>
    unpack({ ...request, signal }),

  /** Unpacks an archive and reads its manifest. */
  read: (
    { sha256, ...archive }: Request<UnpackRequest> & { sha256: string },
    signal: AbortSignal,
  ): Promise<UnpackedBundle | { refusal: Refusal }> => {
    const readContents = () => unpack({ ...archive, signal });
    return readBundle({ sha: sha256, dir: archive.into, readContents });
  },

  /** Returns the refusals of an unpacked bundle for each kind of host. */
  judge: async (
    { bundle, hosts }: { bundle: UnpackedBundle; hosts: HostKind[] },
    signal: AbortSignal,
  ): Promise<Refusal[][]> => {
    const facts = await bundleFactsOf(bundle, signal);
    return hosts.map(({ policy, orchestrator }) => planFor(facts, policy, orchestrator).refusals);
  },

  /** Searches the files of an unpacked bundle for files that do not belong there. */
  search: (bundle: UnpackedBundle, signal: AbortSignal): Promise<{ refusals: Refusal[]; notices: RefusedFault[] }> =>
    judgeContents(bundle, signal),

  /** Compares two archives, without values that may be confidential. */
  compare: async (
    { before, after }: { before: ComparedArchive; after: ComparedArchive },
    signal: AbortSignal,
  ): Promise<BundleDiff | { refusals: Refusal[] }> => {
    const [one, other] = [await sideOf(before, signal), await sideOf(after, signal)];
    if ('refusals' in one) return one;
    return 'refusals' in other ? other : withoutConfidential(diffOf(one, other));
  },

  /** Packs the files of an unpacked archive with another manifest. */
  pack: (
    { contents, compression, ...request }: { contents: BundleContents; compression: Compression } & PackedFiles,
    signal: AbortSignal,
  ): Promise<PackedBundle> => packContents({ ...request, signal }, contents, compression),
};

export type ArchiveTasks = typeof archiveTasks;
type ComparedArchive = Request<UnpackRequest> & { sha256: string };
type Request<Whole> = Omit<Whole, 'signal'>;

/** A policy that hosts have, with their orchestrator. */
export interface HostKind {
  policy: HostPolicy;
  orchestrator: OrchestratorName;
}

/** A directory, and the archive to create from it. */
interface PackedFiles {
  dir: string;
  manifest: string;
  file: string;
}

async function sideOf(archive: ComparedArchive, signal: AbortSignal): Promise<DiffSide | { refusals: Refusal[] }> {
  return diffSideOf(await archiveTasks.read(archive, signal), signal);
}

/** The program of a thread; the package replaces this module with the text of its bundle (deb/program/plugins.ts). */
export const archiveProgram: URL | string = new URL(import.meta.url);

/** The parts of an error that the service needs. */
export type TaskError = { stack: string; name: string } | { fault: TaskFault };
interface TaskFault extends FaultDetails {
  isOfDisk: boolean;
  ending: Ending;
  lines: string[];
}

/** The message of a thread to the service. */
export type TaskOutcome = { result: unknown } | { error: TaskError };

/** The data of a thread that runs this program. */
export type ThreadData = 'archive-tasks';

if (workerData === ('archive-tasks' satisfies ThreadData)) {
  lowerPriority();
  parentPort?.on('message', ({ name, request }: { name: keyof ArchiveTasks; request: never }) => {
    const { signal } = new AbortController();
    const tell = (outcome: TaskOutcome) => parentPort?.postMessage(outcome);
    archiveTasks[name](request, signal).then(
      (result) => tell({ result }),
      (error: unknown) => tell({ error: errorOf(error) }),
    );
  });
}

/** On Linux this concerns the calling thread only, so that requests are served before archives. */
function lowerPriority(): void {
  try {
    setPriority(0, 10);
  } catch {
    // The system does not allow it.
  }
}

function errorOf(error: unknown): TaskError {
  if (!(error instanceof Fault)) {
    const { name, stack = String(error) } = Object(error) as Error;
    return { name, stack };
  }
  const { ending, code, lines, tail } = error;
  const details = { ...(code !== null && { code }), ...(tail !== null && { tail }), refusals: [...error.refusals] };
  return { fault: { ...details, ending, lines, isOfDisk: error instanceof DiskFault } };
}
