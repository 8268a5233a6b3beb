import { lookup as resolve } from 'node:dns';
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { type Authorities, createTlsContext, untrustedOf } from '../../core/certificateAuthorities.ts';
import { createAgents } from '../../core/connector.ts';
import { parseRetryAfter } from '../../core/http.rules.ts';
import { open } from '../../core/nodeClient.ts';
import type { Untrusted } from '../../core/untrusted.rules.ts';

/** One webhook as it is sent. */
interface WebhookPost {
  url: URL;
  headers: Record<string, string>;
  body: string;
  /** Bytes of the answer's body that are read at most; 0 for none. */
  answerBytes: number;
  signal: AbortSignal;
}

/**
 * What became of a webhook: the status, the seconds that the endpoint asks to be left alone (null if it does not) and what was
 * read of the body, or why nothing was answered: a code of node:net or node:tls, `ADDRESS_FORBIDDEN` or `TIMEOUT`.
 */
type WebhookAnswer =
  { status: number; retryAfterS: number | null; body: string } | { status: null; code: string; untrusted?: Untrusted };

/** Sends a webhook once. Follows no redirect, and reads no more of an answer than its head and `answerBytes`; never throws. */
export type PostWebhook = (post: WebhookPost) => Promise<WebhookAnswer>;

/** What holds for all webhooks. */
export interface WebhookTransport {
  authorities: Authorities;
  /** Milliseconds from the look-up of the address to the end of what is read of the answer. */
  timeoutMs: number;
  /** Whether loopback, private and shared addresses are allowed. */
  allowsPrivate: boolean;
}

/** Largest head of an answer, in bytes. */
const MAX_HEAD_BYTES = 16_384;

/** Creates what sends webhooks, each over a connection of its own. */
export function createPostWebhook({ authorities, timeoutMs, allowsPrivate }: WebhookTransport): PostWebhook {
  const trust = { context: createTlsContext(authorities) };
  const agents = createAgents(trust, { connectTimeoutMs: timeoutMs, keepAlive: false });
  return async ({ url, headers, body, answerBytes, signal }) => {
    const policy = policyFor(url, allowsPrivate);
    // An address is not looked up.
    if (!isAllowedHost(url, policy)) return { status: null, code: FORBIDDEN };
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await open({
        ...{ url, method: 'POST', headers, body, agents, signal: AbortSignal.any([signal, timeout]) },
        ...{ lookup: lookupWithin(policy), maxHeadBytes: MAX_HEAD_BYTES },
      });
      const read = await bodyOf(answer.body, answerBytes);
      return { status: answer.status, retryAfterS: parseRetryAfter(answer.headers, Date.now()), body: read };
    } catch (error) {
      const untrusted = untrustedOf(error);
      return { status: null, code: timeout.aborted ? 'TIMEOUT' : codeOf(error), ...(untrusted && { untrusted }) };
    }
  };
}

const FORBIDDEN = 'ADDRESS_FORBIDDEN';

/** As much of a body as is wanted; the connection is closed then, whatever else would come. */
async function bodyOf(response: Readable, bytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  if (bytes > 0) {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length >= bytes) break;
    }
  }
  response.destroy();
  return Buffer.concat(chunks).subarray(0, bytes).toString();
}

/** Resolves a name to the addresses that the policy allows; the connection is made to these and no others. */
function lookupWithin(policy: AddressPolicy): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      const allowed = error === null ? addresses.filter(({ address }) => isAllowedAddress(address, policy)) : [];
      const [first] = allowed;
      if (first === undefined) callback(error ?? Object.assign(new Error(FORBIDDEN), { code: FORBIDDEN }), '');
      else if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

/** Of an error nothing but its code is passed on: it may hold the URL. */
function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'UNKNOWN';
}

/** Where a webhook may go. */
interface AddressPolicy {
  /** Whether loopback, private and shared addresses are allowed. */
  allowsPrivate: boolean;
  /** Only loopback: nothing encrypts the call. */
  loopbackOnly: boolean;
}

/** Whether a webhook may be sent to an address, which a name was resolved to. */
export function isAllowedAddress(address: string, { allowsPrivate, loopbackOnly }: AddressPolicy): boolean {
  const isIn = (list: BlockList) => list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
  if (isIn(never) || (loopbackOnly && !isIn(loopback))) return false;
  return allowsPrivate || !(isIn(loopback) || isIn(internal));
}

/** Where a URL may lead: without TLS only to loopback. */
export function policyFor({ protocol }: URL, allowsPrivate: boolean): AddressPolicy {
  return { allowsPrivate, loopbackOnly: protocol !== 'https:' };
}

/** False for a URL with an address, instead of a name, that is not allowed. */
export function isAllowedHost({ hostname }: URL, policy: AddressPolicy): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) === 0 || isAllowedAddress(host, policy);
}

const loopback = blockList('127.0.0.0/8', '::1/128');

/** Private, shared and unique local networks, those of tests, and IPv6 for IPv4 addresses, which leads to any of them. */
const internal = blockList(
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '100.64.0.0/10',
  '198.18.0.0/15',
  'fc00::/7',
  '64:ff9b::/96',
  '::ffff:0:0:0/96',
  '::/96',
);

/** Where clouds have their metadata, link-local or not; this host, multicast, reserved; and tunnels that hide an address. */
const never = blockList(
  '0.0.0.0/8',
  '169.254.0.0/16',
  '64:ff9b::169.254.0.0/112',
  '100.100.100.200/32',
  'fd00:ec2::254/128',
  'fd20:ce::254/128',
  '192.0.0.0/24',
  '224.0.0.0/3',
  '::/128',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
  '64:ff9b:1::/48',
  '2001::/32',
  '2002::/16',
);

function blockList(...networks: string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits = ''] = network.split('/');
    list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4');
  }
  return list;
}
