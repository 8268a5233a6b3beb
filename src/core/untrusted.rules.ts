import { describeErrorCode } from './errors.rules.ts';
import { printable } from './text.rules.ts';

/** A certificate that a server showed; its content is not trusted. */
export interface ShownCertificate {
  subject: string;
  issuer: string;
  /** Host names and addresses that it is for. */
  names: string[];
  validFrom: Date;
  validTo: Date;
}

/** The certificates of a server that was called by `host`: first its own one, then its issuers. */
export interface ShownChain {
  host: string;
  certificates: ShownCertificate[];
}

/** A time that has certainly passed, and what shows it. */
export interface PastTime {
  what: string;
  at: Date;
}

/** The fault of a server's certificate. */
type UntrustedKind =
  | 'clock'
  | 'not yet valid'
  | 'expired'
  | 'authority expired'
  | 'other name'
  | 'self-signed'
  | 'incomplete chain'
  | 'unknown authority'
  | 'other';

/** Why a certificate is not trusted. */
export interface Untrusted {
  kind: UntrustedKind;
  problem: string;
  /** The name of the authority to trust, where that is a cure. */
  authority: string | null;
}

/** The facts of this host that explain a certificate. */
interface Surroundings {
  now: Date;
  pastTimes: readonly PastTime[];
}

/** Explains why a certificate is not trusted; `chain` is null where the server's certificates are not known. */
export function explainUntrusted(code: string, chain: ShownChain | null, surroundings: Surroundings): Untrusted {
  const { kind, problem, authority = null } = judge(code, chain, surroundings) ?? unexplained(code);
  return { kind, problem: `${problem} (${code})`, authority };
}

type Judgement = Pick<Untrusted, 'kind' | 'problem'> & { authority?: string };

function judge(code: string, chain: ShownChain | null, { now, pastTimes }: Surroundings): Judgement | null {
  const leaf = chain?.certificates[0];
  if (chain === null || leaf === undefined) return null;
  const { certificates, host } = chain;
  switch (code) {
    case 'CERT_NOT_YET_VALID': {
      const clock = judgeClock(now, pastTimes);
      if (clock !== null) return { kind: 'clock', problem: clock };
      const early = certificates.find(({ validFrom }) => validFrom > now) ?? leaf;
      const problem = `the certificate of ${nameOf(early)} is valid from ${time(early.validFrom)}, and the clock of this host shows ${time(now)}`;
      return { kind: 'not yet valid', problem };
    }
    case 'CERT_HAS_EXPIRED': {
      const late = certificates.find(({ validTo }) => validTo < now) ?? leaf;
      const problem = `the certificate of ${nameOf(late)} expired at ${time(late.validTo)}, and the clock of this host shows ${time(now)}`;
      return { kind: late === leaf ? 'expired' : 'authority expired', problem };
    }
    case 'HOSTNAME_MISMATCH':
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return { kind: 'other name', problem: `the certificate is for ${listOf(leaf.names)}, not for ${host}` };
    case 'DEPTH_ZERO_SELF_SIGNED_CERT': {
      const problem = `the certificate of ${nameOf(leaf)} is self-signed and not trusted here`;
      return { kind: 'self-signed', problem, authority: nameOf(leaf) };
    }
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return judgeIssuer(certificates, leaf);
    default:
      return null;
  }
}

function judgeIssuer(certificates: ShownCertificate[], leaf: ShownCertificate): Judgement {
  const authority = plain((certificates.at(-1) ?? leaf).issuer);
  if (certificates.length === 1) {
    const problem = `the server sends only the certificate of ${nameOf(leaf)}, and its issuer "${authority}" is not trusted here`;
    return { kind: 'incomplete chain', problem, authority };
  }
  const problem = `the certificate of ${nameOf(leaf)} is signed by "${authority}", which is not trusted here`;
  return { kind: 'unknown authority', problem, authority };
}

function unexplained(code: string): Judgement {
  const problem = describeErrorCode(code).replace(` (${code})`, '');
  const kinds: Record<string, UntrustedKind> = {
    CERT_NOT_YET_VALID: 'not yet valid',
    CERT_HAS_EXPIRED: 'expired',
    HOSTNAME_MISMATCH: 'other name',
    ERR_TLS_CERT_ALTNAME_INVALID: 'other name',
  };
  return { kind: kinds[code] ?? 'other', problem };
}

/** Why the clock of this host is certainly behind; null when nothing shows that. */
export function judgeClock(now: Date, pastTimes: readonly PastTime[]): string | null {
  const newest = pastTimes.toSorted((a, b) => b.at.getTime() - a.at.getTime())[0];
  if (newest === undefined || newest.at.getTime() - now.getTime() < TOLERANCE_MS) return null;
  return `the clock of this host is wrong: it shows ${time(now)}, but ${newest.what} is of ${time(newest.at)}`;
}

/** Milliseconds by which clocks and filesystems of one host may differ. */
const TOLERANCE_MS = 60_000;

/** Where the authorities of the system are configured. */
export const systemAuthorities = 'the authorities of the system (update-ca-certificates)';

/** The command that sets the clock of a host. */
export const clockCommand = 'sudo timedatectl set-ntp true';

/** The cure for a certificate; `authorities` says where trusted authorities are configured. */
export function certificateCure({ kind, authority }: Untrusted, authorities: string): string {
  switch (kind) {
    case 'clock':
      return `set the clock: ${clockCommand}`;
    case 'not yet valid':
      return `if the clock is wrong, set it: ${clockCommand}; else the server needs a certificate that is valid now`;
    case 'expired':
      return 'renew the certificate on the server; if the clock is wrong, set it';
    case 'authority expired':
      return `let the server send a chain without it, or renew that authority in ${authorities}; if the clock is wrong, set it`;
    case 'other name':
      return 'use one of these names in the URL, or give the server a certificate for the name in the URL';
    case 'self-signed':
      return `if it is the right server, add this certificate to ${authorities}`;
    case 'incomplete chain':
      return `let the server send its whole chain, or, for your own authority, add "${authority ?? ''}" to ${authorities}`;
    case 'unknown authority':
      return `if it is the right server, add "${authority ?? ''}" to ${authorities}`;
    case 'other':
      return `renew the certificate on the server, or add its authority to ${authorities}`;
  }
}

function nameOf({ subject, names }: ShownCertificate): string {
  return `"${plain(subject === '' ? (names[0] ?? 'nobody') : subject)}"`;
}

const LISTED_NAMES = 5;

function listOf(names: readonly string[]): string {
  if (names.length === 0) return 'no name';
  const rest = names.length - LISTED_NAMES;
  return [...names.slice(0, LISTED_NAMES), ...(rest > 0 ? [`${rest} more`] : [])].map(plain).join(', ');
}

/** A text of a certificate, without anything that could forge a line. */
function plain(text: string): string {
  return printable(text.replaceAll('"', "'"));
}

function time(date: Date): string {
  return Number.isNaN(date.getTime()) ? 'an unreadable time' : date.toISOString().replace(/\.\d+Z$/, 'Z');
}

/** The lifetime of a client certificate. */
export interface CertificateLife {
  from: Date;
  until: Date;
}

const dayMs = 86_400_000;
const WARN_BEFORE_DAYS = 30;

/**
 * Warns 30 days before the end of a certificate, or in the last sixth of a shorter life: it should have been extended
 * before (spec §15). Null while there is nothing to warn of.
 */
export function expiryWarning({ from, until }: CertificateLife, now: Date): string | null {
  const leftMs = until.getTime() - now.getTime();
  if (leftMs >= Math.min(WARN_BEFORE_DAYS * dayMs, (until.getTime() - from.getTime()) / 6)) return null;
  if (leftMs < 0) return `ended on ${until.toISOString()}: the policy of the mesh decides whether it is still accepted`;
  const days = Math.floor(leftMs / dayMs);
  return `ends on ${until.toISOString()}, in ${days} ${days === 1 ? 'day' : 'days'}, and was not extended`;
}
