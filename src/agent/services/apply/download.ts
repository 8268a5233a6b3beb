import type { Orders } from '../../../../machines/words.ts';
import { digestOf } from '../../adapters/files/digest.ts';
import type { Tools } from '../tools.ts';

/** Fetches the bundle, unless its bytes are here already; a refused one is not fetched again (spec §5.1). */
export async function download(tools: Tools, { orders }: { orders: Orders }, signal: AbortSignal): Promise<void> {
  const { note, releases, tick } = tools;
  const sha = wanted(orders);
  const file = releases.bundleOf(sha);
  if ((await digestOf(file, signal)) === sha) return;
  let done = 0;
  tick.howFar = () => ({ done, total: orders.sizeBytes, unit: 'bytes' });
  const heard = (bytes: number) => void (done = bytes);
  const wish = { sha, sizeBytes: orders.sizeBytes, file, part: releases.partOf(sha), heard };
  lookForCompose(tools);
  await tools.download(wish, signal);
  note({ word: 'downloaded', bytes: done });
}

/** Compose takes its time to tell its version, so it is asked meanwhile; `check` tells what came of that. */
function lookForCompose({ compose, stop }: Tools): void {
  void compose.probe(stop.signal).catch(() => undefined);
}

/** The sha that an apply is about; the check-in has made sure that there is one. */
export function wanted({ desiredSha }: Orders): string {
  if (desiredSha === null) throw new TypeError('orders to apply without a desired sha');
  return desiredSha;
}
