import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isObject } from '../../protocol/jsonFields.ts';
import { version } from '../../version.ts';
import { isTemporary, transportError } from '../api/failure.ts';
import { send, type Agents, type HttpAnswer } from '../api/gotClient.ts';
import { widerContextOf } from '../config/connection.ts';
import { CtlError, exits } from '../ctlError.ts';
import { shorten } from '../output/text.ts';

/** One call of a service of a Sigstore instance. */
export interface SigstoreCall {
  url: URL;
  type: 'application/json' | 'application/timestamp-query';
  body: string | Buffer;
  /** The error when the service refuses: its code, and what to do about it. */
  refusal: { code: string; remedy: string };
}

/** Sends a call once; the body of the answer. Throws CtlErrors. */
export type Post = (call: SigstoreCall) => Promise<Buffer>;

/** Calls by the authorities of the system and of a file. No error holds the secret, whatever a service answers. */
export function openPost(caFile: string | null, secret: string): { post: Post; close: () => void } {
  const agents: Agents = {
    http: new HttpAgent(),
    https: new HttpsAgent({ secureContext: widerContextOf(caFile), rejectUnauthorized: true }),
  };
  return {
    post: async ({ url, type, body, refusal }) => {
      const headers = { 'content-type': type, 'user-agent': `deployctl/${version}` };
      const answer = await send({ url, method: 'POST', headers, body, agents }).catch((error: unknown) => {
        const { code = 'UNKNOWN' } = error as NodeJS.ErrnoException;
        throw transportError(code, url.origin);
      });
      if (answer.status >= 200 && answer.status < 300) return answer.body;
      throw refused(answer, { ...refusal, origin: url.origin, secret });
    },
    close: () => Object.values(agents).forEach((agent: HttpAgent) => agent.destroy()),
  };
}

const maxMessageColumns = 400;

function refused(
  { status, body }: HttpAnswer,
  { code, remedy, origin, secret }: SigstoreCall['refusal'] & { origin: string; secret: string },
): CtlError {
  const told = messageOf(body).replaceAll(secret, '[the token]');
  const message = [`${origin} answered ${status}`, ...(told === '' ? [] : [shorten(told, maxMessageColumns)])].join(
    ': ',
  );
  if (isTemporary(status)) return new CtlError({ exit: exits.temporary, code: 'UNAVAILABLE', message, remedy: again });
  return new CtlError({ exit: exits.failed, code, message, remedy });
}

const again = 'try again later';

/** All three services tell errors so. */
function messageOf(body: Buffer): string {
  try {
    const json: unknown = JSON.parse(body.toString('utf8'));
    return isObject(json) && typeof json.message === 'string' ? json.message : '';
  } catch {
    return '';
  }
}
