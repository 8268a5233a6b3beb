import { formatSize } from '../../core/text.rules.ts';

/** A line of `compose pull` with `--progress plain` about one layer, as compose prints it from 2.20 to 5.6. */
const layerLine =
  /^\s*(?<id>[0-9a-f]{12}) (?<status>Pulling fs layer|Waiting|Downloading|Retrying|Verifying Checksum|Download complete|Extracting|Pull complete|Already exists)\b(?<rest>.*)$/;

/** `3.326MB/4.001MB` after the bar of compose up to 2.40; `3.326MB` alone from compose 5 on. */
const sizesAtEnd = /(?<now>[\d.]+)(?<nowUnit>[kMGT]?B)(?:\/(?<all>[\d.]+)(?<allUnit>[kMGT]?B))?\s*$/;

const unitBytes: Record<string, number> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };

interface Layer {
  status: string;
  /** Bytes that were downloaded. */
  bytes: number;
  /** Null until the engine has reported it. */
  totalBytes: number | null;
}

/** The operation that a pull waits for while it prints nothing new. */
const ofNetwork: ReadonlySet<string> = new Set(['Pulling fs layer', 'Waiting', 'Downloading', 'Retrying']);
const ofDisk: ReadonlySet<string> = new Set(['Verifying Checksum', 'Extracting']);

/**
 * The received data of one image. An engine repeats lines without progress, and prints nothing while it unpacks a
 * layer, which may take minutes on a slow disk. Therefore only bytes and finished layers count as progress, and only a
 * pull that waits for the network can stall.
 */
export class PullProgress {
  readonly #layers = new Map<string, Layer>();
  readonly #startedMs: number;
  #movedMs: number;

  constructor(startedMs: number) {
    this.#startedMs = startedMs;
    this.#movedMs = startedMs;
  }

  /** Reads a line of compose; true for one that is about a layer. */
  read(line: string, nowMs: number): boolean {
    const { id = '', status = '', rest = '' } = layerLine.exec(line)?.groups ?? {};
    if (id === '') return false;
    const before = this.#layers.get(id) ?? { status: '', bytes: 0, totalBytes: null };
    const layer = layerAfter(before, status, rest);
    const isNews = status !== before.status || layer.bytes !== before.bytes || status === 'Extracting';
    if (isNews && status !== 'Retrying' && status !== 'Waiting') this.#movedMs = nowMs;
    this.#layers.set(id, layer);
    return true;
  }

  /** Milliseconds for which the pull has waited for the network and nothing arrived. */
  stalledMs(nowMs: number): number {
    const statuses = [...this.#layers.values()].map(({ status }) => status);
    const waits = statuses.length === 0 || statuses.some((status) => ofNetwork.has(status));
    return waits && !statuses.some((status) => ofDisk.has(status)) ? nowMs - this.#movedMs : 0;
  }

  /**
   * `3.1 MiB of 3.9 MiB arrived, 0.4 MiB/s`, without the total size until the engine has reported it for each layer.
   */
  describe(nowMs: number): string {
    const layers = [...this.#layers.values()].filter(({ status }) => status !== 'Already exists');
    const bytes = layers.reduce((sum, layer) => sum + layer.bytes, 0);
    const isSizeKnown = layers.length > 0 && layers.every(({ totalBytes }) => totalBytes !== null);
    const total = layers.reduce((sum, { totalBytes }) => sum + (totalBytes ?? 0), 0);
    const size = isSizeKnown ? ` of ${formatSize(total, Math.ceil)}` : '';
    const rate = bytes / 1024 / Math.max(1, (this.#movedMs - this.#startedMs) / 1000);
    return `${formatSize(bytes, Math.floor)}${size} arrived after ${Math.round((nowMs - this.#startedMs) / 1000)}s, at ${rate.toFixed(1)} KiB/s`;
  }
}

function layerAfter(before: Layer, status: string, rest: string): Layer {
  const { now, nowUnit = '', all, allUnit = '' } = sizesAtEnd.exec(rest)?.groups ?? {};
  const totalBytes = all === undefined ? before.totalBytes : Number(all) * (unitBytes[allUnit] ?? 1);
  if (status === 'Downloading' && now !== undefined)
    return { status, bytes: Number(now) * (unitBytes[nowUnit] ?? 1), totalBytes };
  if (ofNetwork.has(status)) return { ...before, status, totalBytes };
  return { status, bytes: totalBytes ?? before.bytes, totalBytes: totalBytes ?? before.bytes };
}

/** A version of compose, without its patch. */
export type ComposeVersion = readonly [major: number, minor: number];

/** The versions of compose that work with an engine. */
export interface ComposeRange {
  from: ComposeVersion;
  /** The first incompatible version; null for an engine that works with every newer version. */
  before: ComposeVersion | null;
  /** The supported versions, for a message. */
  requirement: string;
}

const oldest: ComposeVersion = [2, 20];

/** The first version that compares the ids of a container's networks with the expected ones. */
const comparesNetworks: ComposeVersion = [2, 31];

/**
 * The first version that returns a network's id instead of its name. With earlier versions, each `compose up` would
 * create every container again.
 */
const podmanWithIds: ComposeVersion = [5, 4];

/** For the version of Podman; null for another engine. */
export function composeRangeOf(podmanVersion: string | null): ComposeRange {
  const [major = 0, minor = 0] = (podmanVersion ?? '').split('.').map(Number);
  if (podmanVersion === null || !isBefore([major, minor], podmanWithIds))
    return { from: oldest, before: null, requirement: `compose ${oldest.join('.')} or newer is needed` };
  const requirement = `compose ${oldest.join('.')} to 2.30 is needed with Podman ${podmanVersion}, or Podman ${podmanWithIds.join('.')} or newer`;
  return { from: oldest, before: comparesNetworks, requirement };
}

/** Whether that version of compose is in the range. */
export function isInRange(version: ComposeVersion, { from, before }: ComposeRange): boolean {
  return !isBefore(version, from) && (before === null || isBefore(version, before));
}

function isBefore([major, minor]: ComposeVersion, other: ComposeVersion): boolean {
  return major < other[0] || (major === other[0] && minor < other[1]);
}
