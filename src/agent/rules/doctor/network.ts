import { checked, inapplicable, unseen, type Check } from './doctor.ts';
import { peerNames, type Peer } from '../errors/classifyError.ts';

/** How a service answered a request that asks for nothing, or why it did not. */
export type PeerFacts =
  | {
      status: number;
      /** Of this host's clock, positive when it is ahead; null without a Date. */ skewS: number | null;
    }
  | { code: string | null; line: string }
  | { unknown: string };

/** Where a service is, as the configuration says. */
export interface Place {
  peer: Peer;
  url: string;
  /** PEM file that it is trusted by; null for the system's. */
  ca: string | null;
  laptop: boolean;
}

/** Seconds that clocks may differ: the leeway of the secretstore. */
const toleratedSkewS = 60;

/** Of a Vault that only stands by for another one's end, and serves nobody until then. */
const DISASTER_RECOVERY = 472;

/** Reached, trusted, and at work. */
export function judgePeer(facts: PeerFacts, place: Place): Check {
  const name = peerNames[place.peer];
  if ('unknown' in facts) return unseen(name, facts.unknown);
  const { url, ca, laptop } = place;
  if ('status' in facts) {
    const isDown = facts.status >= 500 || facts.status === DISASTER_RECOVERY;
    const sealed = `${url} answers ${facts.status}: it is sealed, or not at work`;
    return checked(name, url, isDown ? [{ what: sealed, fix: `curl -i ${url}/v1/sys/health` }] : []);
  }
  const file = ca ?? '/etc/ssl/certs/ca-certificates.crt';
  if (facts.code === 'TLS_UNTRUSTED')
    return checked(name, url, [{ what: facts.line, fix: `sudo install -m 0644 THE-RIGHT-CA.pem ${file}` }]);
  if (laptop) return inapplicable(name, `offline, which is normal on a laptop: ${facts.line}`);
  return checked(name, url, [{ what: facts.line, fix: `curl -v --cacert ${file} ${url}/` }]);
}

/** The clock of this host, against those of the services. */
export function judgeClock(peers: readonly PeerFacts[]): Check {
  const skews = peers.flatMap((facts) => ('skewS' in facts && facts.skewS !== null ? [facts.skewS] : []));
  if (skews.length === 0) return unseen('clock', 'no service told its time');
  const worst = skews.toSorted((a, b) => Math.abs(b) - Math.abs(a))[0] ?? 0;
  const side = worst > 0 ? 'ahead of' : 'behind';
  const told = `${Math.abs(worst)} s ${side} the services`;
  const isWrong = Math.abs(worst) > toleratedSkewS;
  return checked(
    'clock',
    told,
    isWrong ? [{ what: `the clock is ${told}`, fix: 'sudo timedatectl set-ntp true' }] : [],
  );
}
