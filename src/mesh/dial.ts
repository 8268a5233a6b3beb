import { randomBytes } from 'node:crypto';
import { isIP } from 'node:net';
import type { Channel } from './channel.ts';
import { isReplyTo } from './channel.ts';
import { CONN_ID, MeshConnection } from './connection.ts';
import type { Frame } from './frame.ts';
import type { Target } from './intercept.ts';
import { parsed, record, textOf } from './json.ts';
import { createSeal, type Seal } from './seal.ts';
import { MeshTrouble } from './trouble.ts';
import { numberIn, u32 } from './values.ts';
import { content, errorCode, header } from './words.ts';

/** What a connection is dialled with; the token is that of the dial session. */
export interface Dial {
  target: Target;
  service: string;
  encrypted: boolean;
  token: string;
  signal: AbortSignal;
}

/** Asks the router for a connection to the service; an encrypted one is refused when the host brings no key. */
export async function dial(channel: Channel, wish: Dial): Promise<MeshConnection> {
  const seal = wish.encrypted ? await createSeal() : null;
  try {
    const connection = await connected(channel, wish, seal);
    if (connection.errored !== null) throw connection.errored;
    return connection;
  } catch (error) {
    channel.close();
    throw error;
  }
}

/** The first data may stand right behind the answer, so the connection listens before the next frame is looked at. */
function connected(channel: Channel, wish: Dial, seal: Seal | null): Promise<MeshConnection> {
  const { service, signal } = wish;
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new MeshTrouble('unreachable', `service ${service}: no answer to the dial in time`));
    if (signal.aborted) {
      giveUp();
      return;
    }
    signal.addEventListener('abort', giveUp, { once: true });
    let sequence = 0;
    channel.listen({
      frame: (answer) => {
        if (!isReplyTo(answer, sequence) && !isClosing(answer)) return;
        signal.removeEventListener('abort', giveUp);
        const trouble = agree(answer, wish, seal);
        if (trouble === null) resolve(new MeshConnection(channel, seal));
        else reject(trouble);
      },
      end: (trouble) => reject(cutOff(trouble, service)),
    });
    sequence = channel.send(connectFrame(wish, seal));
  });
}

/** A router that learns of the end of a session closes what is being dialled, which is no reply to anything. */
function isClosing({ type, headers }: Frame): boolean {
  return type === content.stateClosed && numberIn(headers.get(header.connId)) === CONN_ID;
}

/** Why an answer is no connection; null when it is one, and both sides have their keys. */
function agree(answer: Frame, wish: Dial, seal: Seal | null): MeshTrouble | null {
  if (answer.type !== content.stateConnected) return refusal(answer, wish);
  if (seal === null) return null;
  const hostKey = answer.headers.get(header.publicKey);
  if (hostKey !== undefined) return seal.agree(hostKey);
  return new MeshTrouble('protocol', `service ${wish.service} must be encrypted, but its host offers no key`);
}

/** A router that does not know the session says nothing, it closes the channel; so does one that dies. */
function cutOff(trouble: MeshTrouble, service: string): MeshTrouble {
  if (trouble.kind !== 'unreachable') return trouble;
  return new MeshTrouble('cut', `service ${service}: ${trouble.message} before it was dialled`);
}

function connectFrame({ target: { host, port }, token }: Dial, seal: Seal | null) {
  const name = isIP(host) === 0 ? 'dst_hostname' : 'dst_ip';
  const where = { dst_protocol: 'tcp', [name]: host, dst_port: String(port) };
  const headers = new Map<number, Buffer>([
    [header.connId, u32(CONN_ID)],
    [header.seq, u32(0)],
    [header.connectionMarker, Buffer.from(randomBytes(6).toString('base64url'))],
    [header.appData, Buffer.from(JSON.stringify(where))],
  ]);
  if (seal !== null) headers.set(header.publicKey, seal.publicKey);
  return { type: content.connect, headers, body: Buffer.from(token) };
}

/** A JWT or a UUID: what sessions are named by, should a router repeat one. */
const tokenLike = /eyJ[\w-]+\.[\w.-]*|[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/gi;

/** The reason of a dial that was not granted, sorted by its code, or by its words where an older router gives no code. */
function refusal({ headers, body }: Frame, { service, token }: Dial): MeshTrouble {
  const structured = record(parsed(headers.get(header.structuredError)?.toString() ?? ''));
  const whole = textOf(structured['message']) || body.toString();
  const words = whole.replaceAll(token, '***').replace(tokenLike, '***').slice(0, 200);
  const said = `service ${service}: ${words.replace(/[^\x20-\x7e]/g, ' ')}`;
  switch (numberIn(headers.get(header.errorCode))) {
    case errorCode.invalidApiSession:
    case errorCode.invalidSession:
    case errorCode.wrongSessionType:
    case errorCode.routerNotAllowed:
      return new MeshTrouble('stale', said);
    case errorCode.accessDenied:
    case errorCode.invalidService:
      return new MeshTrouble('notGranted', said);
    case errorCode.postureFailed:
      return new MeshTrouble('unsupported', `${said} (a posture check)`);
    case errorCode.invalidTerminator:
      return new MeshTrouble('noTerminator', said);
  }
  if (/terminator/i.test(words)) return new MeshTrouble('noTerminator', said);
  if (/session|token|identity/i.test(words)) return new MeshTrouble('stale', said);
  return new MeshTrouble('unreachable', said);
}
