import { reserveSequence } from '../../store/envs.ts';
import { notFound } from '../apiError.ts';
import type { Dependencies } from '../dependencies.ts';

/** Reserves the next sequence of an env for a bundle that is packed anew; throws 404. */
export async function takeSequence({ store }: Dependencies, env: string): Promise<number> {
  const sequence = await reserveSequence(store, env);
  if (sequence === null) throw notFound('env');
  return sequence;
}
