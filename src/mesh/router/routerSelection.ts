import { openChannel, type Channel, type ChannelOptions, type RouterAddress } from './channel.ts';
import type { MeshConnection } from './connection.ts';
import { dial, type DialRequest } from './dial.ts';
import { firstSuccess, type Attempt } from '../staggeredRace.ts';
import { MeshError, type MeshErrorKind } from '../meshError.ts';

/** A dial that may go through any of these routers. */
export interface RouterDial extends Omit<ChannelOptions, 'token'> {
  routers: RouterAddress[];
  /** The token of the login, sent in the hello to routers. */
  apiToken: string;
  dialRequest: Omit<DialRequest, 'signal'>;
  /** Milliseconds for all routers together. */
  timeMs: number;
}

/** Upper bound for the number of time shares, so that with many routers each still has time to respond. */
const maxShares = 20;

/** Errors that hold for the whole network. */
const finalKinds: MeshErrorKind[] = ['notGranted', 'noTerminator', 'unsupported', 'stale'];

/**
 * A connection through the first router that provides one. Channels to all routers are opened at once; dials are
 * staggered.
 */
export async function dialThroughRouters({
  routers,
  identity,
  apiToken,
  dialRequest,
  timeMs,
  signal,
}: RouterDial): Promise<MeshConnection> {
  if (routers.length === 0) {
    throw new MeshError(
      'unreachable',
      `no edge router that service ${dialRequest.service} may be dialled by is online`,
    );
  }
  const settled = new AbortController();
  const limit = AbortSignal.any([signal, settled.signal]);
  const channels = routers.map((router) => openChannel(router, { identity, token: apiToken, signal: limit }));
  const used = new Set<Channel>();
  const attempts = inSettlementOrder(channels).map((next): Attempt<MeshConnection> => async (end) => {
    const channel = await next;
    used.add(channel);
    return dial(channel, { ...dialRequest, signal: end });
  });
  const staggerMs = timeMs / Math.min(maxShares, routers.length + 1);
  try {
    return await firstSuccess(attempts, { staggerMs, finalKinds, signal, discardLate: (late) => void late.destroy() });
  } finally {
    settled.abort();
    for (const opening of channels)
      opening.then(
        (channel) => used.has(channel) || channel.close(),
        () => undefined,
      );
  }
}

/** The promises in the order in which they are fulfilled; rejected ones come last. */
function inSettlementOrder<T>(promises: Promise<T>[]): Promise<T>[] {
  const resolvers: { resolve: (value: T) => void; reject: (error: unknown) => void }[] = [];
  const ordered = promises.map(() => new Promise<T>((resolve, reject) => resolvers.push({ resolve, reject })));
  let [fulfilled, rejected] = [0, promises.length];
  for (const promise of promises)
    promise.then(
      (value) => resolvers[fulfilled++]?.resolve(value),
      (error: unknown) => resolvers[--rejected]?.reject(error),
    );
  for (const each of ordered) each.catch(() => undefined);
  return ordered;
}
