import { Fault, failure, refused, stopped } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/words.ts';
import type { Settings } from '../../config/settings.ts';
import {
  endOf,
  judgeEnd,
  judgeHead,
  judgeRedirect,
  judgeSize,
  type Bounds,
} from '../../rules/bundle/downloadResponse.ts';
import type { Flow } from './http.ts';
import { Part } from './part.ts';
import type { Caller } from './tenancy.ts';

/** One bundle to fetch: `part` collects its bytes, across ticks too, and becomes `file` when their digest is `sha`. */
export interface Wanted {
  sha: Sha;
  /** As the check-in announced it. */
  sizeBytes: number;
  part: string;
  file: string;
  /** Hears how many bytes are here. */
  heard?: (bytes: number) => void;
}

export type Download = (wanted: Wanted, signal: AbortSignal) => Promise<void>;

interface Downloader extends Caller {
  settings: Settings;
}

/** One download under way. */
interface Fetch extends Downloader {
  wanted: Wanted;
  bounds: Bounds;
  part: Part;
  signal: AbortSignal;
  /** `download_timeout_s` for all tries together. */
  limit: AbortSignal;
}

/**
 * Downloads bundles, durably and with their digest proven (spec §1). A cut body is resumed where it ended as long as
 * tries bring new bytes; bytes of another digest are refused and removed.
 */
export function createDownload(downloader: Downloader): Download {
  const { settings } = downloader;
  return async (wanted, signal) => {
    const bounds = { sizeBytes: wanted.sizeBytes, limitBytes: settings.limits.bundle_bytes };
    const unsafe = judgeSize(bounds);
    if (unsafe !== null) throw unsafe;
    const part = await Part.open(wanted.part, signal);
    try {
      if (signal.aborted) throw stopped();
      const limit = AbortSignal.timeout(settings.download_timeout_s * 1000);
      await complete({ ...downloader, wanted, bounds, part, signal, limit });
      await part.become(wanted.file);
    } finally {
      await part.close();
    }
  };
}

async function complete(fetch: Fetch): Promise<void> {
  const { part, wanted } = fetch;
  const inherited = part.bytes > 0;
  await fill(fetch);
  if (inherited && part.digest() !== wanted.sha) {
    await part.clear();
    await fill(fetch);
  }
  if (part.digest() === wanted.sha) return;
  await part.remove();
  throw refused([{ code: 'BUNDLE_DIGEST', detail: `the bundle's sha256 is ${part.digest()}, not ${wanted.sha}` }]);
}

async function fill(fetch: Fetch): Promise<void> {
  const { part, wanted } = fetch;
  if (part.bytes > wanted.sizeBytes) await part.clear();
  let most = part.bytes;
  let vain = 0;
  while (part.bytes === 0 || part.bytes < wanted.sizeBytes) {
    const end = await fillOnce(fetch);
    if (end === 'whole') return;
    vain = part.bytes > most ? 0 : vain + 1;
    most = Math.max(most, part.bytes);
    if (vain > maxVain || fetch.limit.aborted) throw end;
  }
}

/** How one answer ended: `whole`, or the fault to throw if no further try helps. */
async function fillOnce(fetch: Fetch): Promise<'whole' | Fault> {
  const { part, settings } = fetch;
  const stall = createStall(settings.download_stall_s * 1000);
  try {
    const flow = await follow(fetch, AbortSignal.any([fetch.limit, stall.signal]));
    if (flow instanceof Fault) return flow;
    try {
      const verdict = judgeHead(headOf(flow), part.bytes);
      if (verdict !== 'append') await part.clear();
      if (verdict === 'ask again')
        return failure('PROTOCOL_INVALID', `${flow.place}: bundle: ranges are offered and refused`);
      await take(fetch, flow, stall.postpone);
      return 'whole';
    } catch (error) {
      if (error instanceof Fault && error.ending === 'offline') return error;
      throw error;
    } finally {
      flow.discard();
    }
  } finally {
    stall.clear();
  }
}

async function take({ part, bounds, wanted }: Fetch, flow: Flow, postponeStall: () => void): Promise<void> {
  const announced = judgeEnd(endOf(headOf(flow), part.bytes), bounds);
  if (announced !== null) throw announced;
  for await (const chunk of flow.body) {
    const excess = judgeEnd(part.bytes + chunk.length, bounds);
    if (excess !== null) throw excess;
    postponeStall();
    await part.append(chunk);
    wanted.heard?.(part.bytes);
  }
}

/**
 * Follows redirects by hand; the bearer goes to the tenancy service's own origin only. A link that its storage host does
 * not honour may have expired: that fault is returned, for another try with a link asked for anew.
 */
async function follow(fetch: Fetch, limit: AbortSignal): Promise<Flow | Fault> {
  const { settings, wanted, http, signal } = fetch;
  const home = new URL(`${settings.tenancy_url}/v1/agent/bundles/${wanted.sha}`);
  let url = home;
  for (let hop = 0; hop <= longestChain; hop++) {
    const atHome = url.origin === home.origin;
    const headers = headersFor(fetch, atHome);
    const call = { peer: 'tenancy', what: 'bundle', method: 'GET', path: url, headers, signal } as const;
    const asked = http.stream({ ...call, requestId: fetch.requestId(), accepts }, limit);
    const flow = await asked.catch((error: unknown) => {
      if (!atHome && error instanceof Fault && error.code === 'PROTOCOL_INVALID') return error;
      throw error;
    });
    if (flow instanceof Fault) return flow;
    if (flow.status < 300 || flow.status === 416) return flow;
    flow.discard();
    url = judgeRedirect(flow.headers.location, url);
  }
  throw failure('PROTOCOL_INVALID', `bundle: more than ${longestChain} redirects`);
}

function headersFor({ part, vault }: Fetch, atHome: boolean): Record<string, string> {
  return {
    accept: 'application/octet-stream',
    ...(part.bytes > 0 && { range: `bytes=${part.bytes}-` }),
    ...(atHome && { authorization: `Bearer ${vault.token()}` }),
  };
}

function headOf({ place, status, headers }: Flow) {
  return { place, status, contentLength: headers['content-length'], contentRange: headers['content-range'] };
}

/** Aborts with the reason STALLED when it is not postponed for that long. */
function createStall(patienceMs: number) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort('STALLED'), patienceMs);
  return { signal: controller.signal, postpone: () => void timer.refresh(), clear: () => clearTimeout(timer) };
}

/** Redirects and a range that cannot be had are read here, not sorted as faults. */
const accepts = [301, 302, 303, 307, 308, 416];
const longestChain = 3;
/** Tries in a row that may bring no new byte. */
const maxVain = 2;
