import type { Fault } from '../../../machines/fault.ts';
import {
  type Check,
  checkResult,
  type Fact,
  type FileFacts,
  type Finding,
  formatMode,
  inapplicableCheck,
  type ProgramUser,
  unknownCheck,
} from '../../core/doctor.rules.ts';
import { type CertificateLife, expiryWarning } from '../../core/untrusted.rules.ts';
import type { TokenLookup } from '../token/token.rules.ts';
import { type Peer, peerNames, proxyPorts } from '../transport/classifyError.rules.ts';
import type { CheckContext } from './ticks.rules.ts';

/** Response of a service to a probe request, or why there was no response. */
export type PeerFacts =
  | {
      status: number;
      /** Seconds that this host's clock is ahead of the service; null without a Date header. */
      skewS: number | null;
    }
  | { code: string | null; line: string; certificate?: Fault['certificate'] }
  | { unknown: string };

/** A service according to the configuration. */
interface PeerEndpoint {
  peer: Peer;
  url: string;
  /** PEM file of its certificate authority; null for the system's roots. */
  ca: string | null;
  laptop: boolean;
  transport: 'system' | 'proxy' | 'sdk' | 'unknown';
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
    return checkResult(name, url, isDown ? [{ problem, fix: requestCommand('-i', '/v1/sys/health', endpoint) }] : []);
  }
  if (facts.code === 'TLS_UNTRUSTED') {
    const { cure, authority } = facts.certificate ?? { cure: '', authority: '' };
    const fix = authority === null ? cure : trustCommand(ca);
    return checkResult(name, url, [{ problem: facts.line.replace(`: ${cure}`, ''), fix }]);
  }
  if (laptop) return inapplicableCheck(name, `offline, which is normal on a laptop: ${facts.line}`);
  const file = ca ?? '/etc/ssl/certs/ca-certificates.crt';
  return checkResult(name, url, [{ problem: facts.line, fix: requestCommand(`-v --cacert ${file}`, '/', endpoint) }]);
}

/** A request that takes the way of the agent: only the mesh knows the names of services behind `proxy` and `sdk`. */
function requestCommand(options: string, path: string, { peer, url, transport }: PeerEndpoint): string {
  if (transport === 'sdk') return 'sudo deployd run --once';
  const way = transport === 'proxy' ? `--connect-to ::127.0.0.1:${proxyPorts[peer]} ` : '';
  return `curl ${options} ${way}${url}${path}`;
}

/** Adds an authority and keeps the others. Without `ca`, the agent trusts the authorities of the system. */
function trustCommand(ca: string | null): string {
  const ofSystem = '/usr/local/share/ca-certificates/THE-RIGHT-CA.crt';
  return ca === null
    ? `sudo install -m 0644 THE-RIGHT-CA.pem ${ofSystem} && sudo update-ca-certificates`
    : `sudo tee --append ${ca} <THE-RIGHT-CA.pem`;
}

/** The clock skews that services reported, in seconds. */
export function skewsOf(peers: readonly PeerFacts[]): number[] {
  return peers.flatMap((facts) => ('skewS' in facts && facts.skewS !== null ? [facts.skewS] : []));
}

/** Facts of the mesh identity of this host and of the unit that repairs its permissions. */
export interface IdentityFacts {
  file: FileFacts;
  /** Name of the group that owns the file. */
  group: string;
  /** True when the file is a valid identity; null when it cannot be read. */
  isIdentity: boolean | null;
  /** Whether `deployd-identity-acl.path` is active; unknown without systemd. */
  watched: Fact<boolean>;
  /** The lifetime of its certificate; null when it cannot be read. */
  life: CertificateLife | null;
}

/**
 * For `transport: sdk`: only the agent can read the identity, also after the tunneller rewrites it (spec §15). For
 * `transport: proxy` only the tunneller must read it. With both its certificate must not be about to end.
 */
export function checkIdentity(facts: IdentityFacts, { agent, now, transport }: IdentityContext): Check {
  const { file, group, isIdentity, watched, life } = facts;
  const { path, found, readable } = file;
  const name = 'mesh identity';
  if (found === 'hidden') return unknownCheck(name, `${path} cannot be seen by this user: use sudo`);
  if (found === null) {
    return checkResult(name, path, [{ problem: `${path} does not exist`, fix: enrolment(path) }]);
  }
  const findings: Finding[] = expiryFindings(life, { path, now });
  if (transport === 'proxy') {
    if (life === null) return unknownCheck(name, `the end of the certificate of ${path} cannot be read: use sudo`);
    return checkResult(name, path, findings);
  }
  const regrant = 'sudo systemctl start deployd-identity-acl.service';
  if (readable === false) findings.push({ problem: `${agent.name} cannot read ${path}`, fix: regrant });
  if ((found.mode & 0o027) !== 0)
    findings.push({ problem: `${path} has mode ${formatMode(found.mode)}`, fix: `sudo chmod g-w,o= ${path}` });
  if (isIdentity === false)
    findings.push({
      problem: `${path} is not an identity`,
      fix: enrolment(path),
    });
  if (found.uid !== agent.uid && !agent.gids.includes(found.gid)) {
    const problem = `${agent.name} is not in group ${group}: when the tunneller rewrites ${path}, it cannot read it any more`;
    findings.push({ problem, fix: `sudo usermod -aG ${group} ${agent.name}` });
  }
  if ('known' in watched && !watched.known) {
    const problem = 'deployd-identity-acl.path is not active: a rewrite with mode 0600 would lock the agent out';
    findings.push({ problem, fix: 'sudo systemctl enable --now deployd-identity-acl.path' });
  }
  return checkResult(name, path, findings);
}

/** A command that enrols this host; the file gets the owner of its directory, who runs the mesh. */
function enrolment(path: string): string {
  const directory = path.slice(0, path.lastIndexOf('/')) || '/';
  const access = `sudo chown --reference=${directory} ${path} && sudo chmod 640 ${path}`;
  return `sudo ziti edge enroll --jwt ENROLMENT.jwt --out ${path} && ${access}`;
}

/** Where and when an identity is checked. */
interface IdentityContext {
  agent: ProgramUser;
  now: Date;
  transport: 'sdk' | 'proxy';
}

function expiryFindings(life: CertificateLife | null, { path, now }: { path: string; now: Date }): Finding[] {
  const warning = life && expiryWarning(life, now);
  const fix = 'sudo /usr/share/deployd/identity-acl.sh --extend';
  return warning === null ? [] : [{ problem: `the certificate of ${path} ${warning}`, fix }];
}

/** The unit of the mesh proxy. */
export const proxyUnit = 'deployd-proxy.service';

/** A port of the mesh proxy: nothing listens on it, its service answers, or its service does not. */
export interface ProxyPort {
  port: number;
  state: 'closed' | 'silent' | 'answers';
}

/** For `transport: proxy`: both services answer through their ports (spec §15). */
export function checkProxyPorts(ports: readonly ProxyPort[], { isEnabled }: { isEnabled: boolean }): Check {
  const failing = ports.filter(({ state }) => state !== 'answers');
  const fix = isEnabled
    ? `sudo journalctl --unit ${proxyUnit} --lines 20 --no-pager`
    : `sudo systemctl enable --now ${proxyUnit}`;
  const findings = failing.map(({ port, state }) => ({ problem: problemOf(port, state, isEnabled), fix }));
  return checkResult('mesh proxy', `ports ${ports.map(({ port }) => port).join(' and ')}`, findings);
}

function problemOf(port: number, state: ProxyPort['state'], isEnabled: boolean): string {
  if (state === 'silent') return `127.0.0.1:${port} is open, but its service does not answer through the mesh`;
  const closed = `nothing listens on 127.0.0.1:${port}`;
  return isEnabled ? `${closed}: the mesh does not grant its service to the identity, or is not reachable` : closed;
}

/** The result of a check that applies only to another transport. */
export function inapplicableForTransport(name: string, transport: string): Check {
  return inapplicableCheck(name, `transport is ${transport}`);
}

/** Listening ports in the kernel's table of TCP sockets (`/proc/net/tcp`). */
export function parseListeningPorts(table: string): number[] {
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/));
  const listening = rows.filter(([, , , state]) => state === '0A');
  return [...new Set(listening.map(([, local = '']) => Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16)))];
}

/** Facts of the token on disk, its lookup at the secretstore, and the bootstrap grant. */
export interface TokenFacts {
  token: Fact<{ present: boolean; lookup: Fact<TokenLookup> }>;
  grant: FileFacts;
  /** Expiry of the grant, null without one. */
  grantExpiry: Date | null;
  env: string | null;
  intervalS: number;
  /** A laptop may be in a place where the secretstore cannot be reached. */
  laptop: boolean;
}

/** Checks that the token is present, valid, of this env and not about to expire, and that no grant stays unused (spec §11). */
export function checkToken(facts: TokenFacts, context: CheckContext): Check {
  const { token, grant } = facts;
  const name = 'token';
  if ('unknown' in token) return unknownCheck(name, token.unknown);
  const renew = renewalCommand(grant.path, context);
  const waiting = grantFindings(facts, context);
  if (!token.known.present) {
    const absent =
      grant.found === null
        ? { problem: 'token ABSENT, and no bootstrap grant', fix: renew }
        : { problem: 'token ABSENT', fix: 'sudo deployd bootstrap' };
    return checkResult(name, 'absent', waiting.length > 0 ? waiting : [absent]);
  }
  const { lookup } = token.known;
  const found = [...lifeFindings(lookup, facts, { context, renew }), ...recordedFindings(context, renew), ...waiting];
  const detail = describeToken(lookup, context);
  if ('known' in lookup || found.length > 0) return checkResult(name, detail, found);
  return (facts.laptop ? inapplicableCheck : unknownCheck)(name, `${detail}; not looked up: ${lookup.unknown}`);
}

/** Expiry in the claims of a JWT; null without one. */
export function jwtExpiryOf(jwt: string): Date | null {
  try {
    const { exp } = JSON.parse(atob((jwt.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'))) as {
      exp?: unknown;
    };
    return typeof exp === 'number' ? new Date(exp * 1000) : null;
  } catch {
    return null;
  }
}

/** The grant comes from the install kit; revealing the kit again creates a new one. */
function renewalCommand(path: string, { agent: { name } }: CheckContext): string {
  return `sudo install -m 0600 -o ${name} -g ${name} NEW-GRANT ${path} && sudo deployd bootstrap`;
}

function lifeFindings(
  lookup: Fact<TokenLookup>,
  { env, intervalS }: Pick<TokenFacts, 'env' | 'intervalS'>,
  { context, renew }: { context: CheckContext; renew: string },
): Finding[] {
  if ('unknown' in lookup) {
    const expires = recordedExpiry(context);
    return expires !== null && expires < context.now
      ? [{ problem: `the token expired at ${expires.toISOString()}`, fix: renew }]
      : [];
  }
  if ('denied' in lookup.known) return [lookupDenied];
  if (lookup.known.dead) return [{ problem: 'the secretstore does not know the token any more', fix: renew }];
  const { ttlS, expireTime, env: tokenEnv } = lookup.known;
  const findings: Finding[] = [];
  if (expireTime !== null && ttlS < 2 * intervalS)
    findings.push({ problem: `the token ends in ${ttlS} s`, fix: 'sudo deployd run --once' });
  if (tokenEnv !== null && env !== null && tokenEnv !== env)
    findings.push({ problem: `the token belongs to environment ${tokenEnv}, config.yaml says ${env}`, fix: renew });
  return findings;
}

/** Occurs when the token's role in the secretstore lacks the policy `default`. */
const lookupDenied: Finding = {
  problem: 'no policy lets the token look itself up; the policy default of the secretstore does',
  fix: 'bao read auth/jwt-tenancy/role/ROLE',
};

/** Findings of the last ticks, from the state. */
function recordedFindings({ state }: CheckContext, renew: string): Finding[] {
  if ('unknown' in state || state.known === null) return [];
  const { token, last_outcome } = state.known;
  const refused = last_outcome?.code === 'AGENT_UNAUTHENTICATED';
  return [
    ...(refused ? [{ problem: `the tenancy service refused the token at ${last_outcome.at}`, fix: renew }] : []),
    ...(token.trouble !== null ? [{ problem: `it was not renewed: ${token.trouble}`, fix: 'sudo deployd trace' }] : []),
  ];
}

function grantFindings({ grant, grantExpiry }: TokenFacts, context: CheckContext): Finding[] {
  const { now, state } = context;
  if (grant.found === null || grant.found === 'hidden') return [];
  if (grantExpiry !== null && grantExpiry < now)
    return [{ problem: `the grant expired at ${grantExpiry.toISOString()}`, fix: renewalCommand(grant.path, context) }];
  const known = 'known' in state ? state.known : null;
  if (known?.token.grant_refused !== undefined)
    return [{ problem: `the grant is not taken: ${known.token.grant_refused}`, fix: `sudo rm ${grant.path}` }];
  const lastTick = new Date(known?.last_outcome?.at ?? 0);
  return lastTick > grant.found.mtime
    ? [{ problem: `ticks have left the grant ${grant.path} where it is`, fix: 'sudo deployd bootstrap' }]
    : [];
}

function recordedExpiry({ state }: CheckContext): Date | null {
  const at = 'known' in state ? (state.known?.token.expires_at ?? null) : null;
  return at === null ? null : new Date(at);
}

function describeToken(lookup: Fact<TokenLookup>, context: CheckContext): string {
  if ('unknown' in lookup) {
    const recorded = recordedExpiry(context);
    return recorded === null ? 'present' : `present, until ${recorded.toISOString()}`;
  }
  if ('denied' in lookup.known) return 'present, may not look itself up';
  if (lookup.known.dead) return 'dead';
  return lookup.known.expireTime === null ? 'alive, without end' : `alive, until ${lookup.known.expireTime}`;
}
