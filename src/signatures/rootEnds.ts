import { X509Certificate } from 'node:crypto';

/** When the last of a kind of authority of a trust root ends; null when one of them has no end, 1970 when there is none. */
export interface RootEnd {
  what: 'certificate authority' | 'transparency log' | 'certificate log';
  end: Date | null;
}

interface Validity {
  validFor?: { end?: string };
}

interface RootJson {
  certificateAuthorities?: (Validity & { certChain?: { certificates?: { rawBytes: string }[] } })[];
  tlogs?: { publicKey?: Validity }[];
  ctlogs?: { publicKey?: Validity }[];
}

/** The ends of a Sigstore trust root, by its JSON text. Throws an error when the text is none. */
export function rootEnds(text: string): RootEnd[] {
  const { certificateAuthorities = [], tlogs = [], ctlogs = [] } = JSON.parse(text) as RootJson;
  const authorities = certificateAuthorities.map(({ validFor, certChain }) =>
    earliest([endOf(validFor), ...(certChain?.certificates ?? []).map(({ rawBytes }) => certificateEnd(rawBytes))]),
  );
  return [
    { what: 'certificate authority', end: latest(authorities) },
    { what: 'transparency log', end: latest(tlogs.map(({ publicKey }) => endOf(publicKey?.validFor))) },
    { what: 'certificate log', end: latest(ctlogs.map(({ publicKey }) => endOf(publicKey?.validFor))) },
  ];
}

/** The time from which nothing ends later. */
const never = Infinity;

function endOf(validFor: Validity['validFor']): number {
  return validFor?.end === undefined ? never : Date.parse(validFor.end);
}

function certificateEnd(base64: string): number {
  return Date.parse(new X509Certificate(Buffer.from(base64, 'base64')).validTo);
}

function earliest(times: number[]): number {
  return Math.min(...times);
}

/** 1970 without any. */
function latest(times: number[]): Date | null {
  const last = Math.max(0, ...times);
  return last === never ? null : new Date(last);
}
