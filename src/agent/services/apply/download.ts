import type { DesiredState } from '../../../../machines/types.ts';
import { digestOf } from '../../../core/files.ts';
import type { Dependencies } from '../dependencies.ts';

/** Downloads the bundle unless it is on disk; a refused bundle is not downloaded again (spec §5.1). */
export async function download(
  deps: Dependencies,
  { desired }: { desired: DesiredState },
  signal: AbortSignal,
): Promise<void> {
  const { recordDecision, releases, tick } = deps;
  const sha = desiredShaOf(desired);
  const file = releases.bundleOf(sha);
  if ((await digestOf(file, signal)) === sha) return;
  let bytes = 0;
  tick.readProgress = () => ({ done: bytes, total: desired.sizeBytes, unit: 'bytes' });
  const onProgress = (received: number) => void (bytes = received);
  const request = { sha, sizeBytes: desired.sizeBytes, file, partialFile: releases.partialFileOf(sha), onProgress };
  probeCompose(deps);
  await deps.download(request, signal);
  recordDecision({ word: 'downloaded', bytes });
}

/** Asks compose for its version during the download, because that is slow; `validateBundle` reports the result. */
function probeCompose({ compose, stop }: Dependencies): void {
  void compose.probe(stop.signal).catch(() => undefined);
}

/** The sha to apply; the check-in guarantees it for the action `apply`. */
export function desiredShaOf({ desiredSha }: DesiredState): string {
  if (desiredSha === null) throw new TypeError('apply without a desired sha');
  return desiredSha;
}
