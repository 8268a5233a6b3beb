import { greet, type Channel, type Greeting, type Router } from './channel.ts';
import type { MeshConnection } from './connection.ts';
import { dial, type Dial } from './dial.ts';
import { firstOf, type Attempt } from './race.ts';
import { MeshTrouble, type TroubleKind } from './trouble.ts';

/** A dial that may go through any of these routers. */
export interface Way extends Omit<Greeting, 'token'> {
  routers: Router[];
  /** Of the login, which routers are greeted with. */
  apiToken: string;
  wish: Omit<Dial, 'signal'>;
  /** Milliseconds that the routers share. */
  timeMs: number;
}

/** No share of the time is smaller than this part of it, lest many routers are dialled for want of patience. */
const mostShares = 20;

/** What a router says for the whole network. */
const final: TroubleKind[] = ['notGranted', 'noTerminator', 'unsupported', 'stale'];

/** A connection through the first router that gives one: all are greeted at once, then dialled by turns. */
export async function connectThrough({
  routers,
  identity,
  apiToken,
  wish,
  timeMs,
  signal,
}: Way): Promise<MeshConnection> {
  if (routers.length === 0) {
    throw new MeshTrouble('unreachable', `no edge router that service ${wish.service} may be dialled by is online`);
  }
  const decided = new AbortController();
  const limit = AbortSignal.any([signal, decided.signal]);
  const greetings = routers.map((router) => greet(router, { identity, token: apiToken, signal: limit }));
  const taken = new Set<Channel>();
  const attempts = inOrder(greetings).map((next): Attempt<MeshConnection> => async (end) => {
    const channel = await next;
    taken.add(channel);
    return dial(channel, { ...wish, signal: end });
  });
  const everyMs = timeMs / Math.min(mostShares, routers.length + 1);
  try {
    return await firstOf(attempts, { everyMs, final, signal, drop: (late) => void late.destroy() });
  } finally {
    decided.abort();
    for (const greeting of greetings)
      greeting.then(
        (channel) => taken.has(channel) || channel.close(),
        () => undefined,
      );
  }
}

/** The same promises in the order in which they are kept; those that are broken come last. */
function inOrder<T>(promises: Promise<T>[]): Promise<T>[] {
  const settlers: { resolve: (value: T) => void; reject: (error: unknown) => void }[] = [];
  const ordered = promises.map(() => new Promise<T>((resolve, reject) => settlers.push({ resolve, reject })));
  let [kept, broken] = [0, promises.length];
  for (const promise of promises)
    promise.then(
      (value) => settlers[kept++]?.resolve(value),
      (error: unknown) => settlers[--broken]?.reject(error),
    );
  for (const each of ordered) each.catch(() => undefined);
  return ordered;
}
