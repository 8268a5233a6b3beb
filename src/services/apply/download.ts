import type { Orders } from '../../../machines/words.ts';
import { digestOf } from '../../adapters/digest.ts';
import type { Tools } from '../tools.ts';

/** Fetches the bundle, and looks meanwhile for the compose that it will need; `check` tells what came of that. */
export async function download(tools: Tools, { orders }: { orders: Orders }, signal: AbortSignal): Promise<void> {
  const looked = tools.compose.probe(signal).catch(() => undefined);
  try {
    await fetchBundle(tools, orders, signal);
  } finally {
    await looked;
  }
}

/** Unless its bytes are here already: a refused one is not fetched again (spec §5.1). */
async function fetchBundle(tools: Tools, orders: Orders, signal: AbortSignal): Promise<void> {
  const { note, releases, tick } = tools;
  const sha = wanted(orders);
  const file = releases.bundleOf(sha);
  if ((await digestOf(file, signal)) === sha) return;
  let done = 0;
  tick.howFar = () => ({ done, total: orders.sizeBytes, unit: 'bytes' });
  const heard = (bytes: number) => void (done = bytes);
  await tools.download({ sha, sizeBytes: orders.sizeBytes, file, part: releases.partOf(sha), heard }, signal);
  note({ word: 'downloaded', bytes: done });
}

/** The sha that an apply is about; the check-in has made sure that there is one. */
export function wanted({ desiredSha }: Orders): string {
  if (desiredSha === null) throw new TypeError('orders to apply without a desired sha');
  return desiredSha;
}
