import { type Check, checkResult, inapplicableCheck, unknownCheck } from '../../../core/doctor.rules.ts';
import { type Peer, peerNames } from '../errors/classifyError.ts';

/** Response of a service to a probe request, or why there was none. */
export type PeerFacts =
  | {
      status: number;
      /** Seconds that this host's clock is ahead of the service; null without a Date header. */
      skewS: number | null;
    }
  | { code: string | null; line: string }
  | { unknown: string };

/** A service by the configuration. */
export interface PeerEndpoint {
  peer: Peer;
  url: string;
  /** PEM file of its certificate authority; null for the system's roots. */
  ca: string | null;
  laptop: boolean;
}

/** Status of a disaster recovery standby, which serves no requests. */
const STATUS_DR_STANDBY = 472;

/** Checks that a service is reachable, trusted and active. */
export function checkPeer(facts: PeerFacts, endpoint: PeerEndpoint): Check {
  const name = peerNames[endpoint.peer];
  if ('unknown' in facts) return unknownCheck(name, facts.unknown);
  const { url, ca, laptop } = endpoint;
  if ('status' in facts) {
    const isDown = facts.status >= 500 || facts.status === STATUS_DR_STANDBY;
    const problem = `${url} answers ${facts.status}: it is sealed, or not at work`;
    return checkResult(name, url, isDown ? [{ problem, fix: `curl -i ${url}/v1/sys/health` }] : []);
  }
  const file = ca ?? '/etc/ssl/certs/ca-certificates.crt';
  if (facts.code === 'TLS_UNTRUSTED')
    return checkResult(name, url, [{ problem: facts.line, fix: `sudo install -m 0644 THE-RIGHT-CA.pem ${file}` }]);
  if (laptop) return inapplicableCheck(name, `offline, which is normal on a laptop: ${facts.line}`);
  return checkResult(name, url, [{ problem: facts.line, fix: `curl -v --cacert ${file} ${url}/` }]);
}

/** The skews that services told, in seconds. */
export function skewsOf(peers: readonly PeerFacts[]): number[] {
  return peers.flatMap((facts) => ('skewS' in facts && facts.skewS !== null ? [facts.skewS] : []));
}
