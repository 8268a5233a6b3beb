import { isObject } from '../../../protocol/jsonFields.ts';
import { unusableAnswer } from './secretstoreClient.ts';

/** The value if it is an object, else an empty object. */
export function recordOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}

/** The `data` of an answer to the call `what`. Throws `PeerError` without one. */
export function dataOf(json: unknown, what: string): Record<string, unknown> {
  const { data } = recordOf(json);
  if (!isObject(data)) throw unusableAnswer(what);
  return data;
}
