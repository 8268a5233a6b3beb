import { TrustedRoot } from '@sigstore/protobuf-specs';
import { toTrustMaterial, type TrustMaterial } from '@sigstore/verify';

/** The authorities and logs of a Sigstore trust root, as the library uses them. */
export type TrustRoot = Omit<TrustMaterial, 'publicKey'>;

/** A root that knows nobody. */
export const emptyRoot: TrustRoot = { tlogs: [], certificateAuthorities: [], ctlogs: [], timestampAuthorities: [] };

/** Of version 0.1 in two spellings, and 0.2. */
const rootMediaType = 'application/vnd.dev.sigstore.trustedroot';

/** Reads a Sigstore trust root with the library that uses it. A text says why it cannot be used. */
export function readRoot(text: string): TrustRoot | string {
  const json = parseJson(text);
  if (json === undefined) return 'is not JSON';
  const { mediaType } = Object(json) as { mediaType?: unknown };
  if (!String(mediaType).startsWith(rootMediaType)) return 'is not a Sigstore trust root';
  try {
    const root = toTrustMaterial(TrustedRoot.fromJSON(json));
    const isDamaged = rootEnds(root).some(({ end }) => end !== null && Number.isNaN(end.getTime()));
    return isDamaged ? 'is a damaged trust root' : root;
  } catch {
    return 'is a damaged trust root';
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The end of the last authority of a kind in a trust root; null if one of them has no end, 1970 if there is none. */
export interface RootEnd {
  what: 'certificate authority' | 'transparency log' | 'certificate log' | 'timestamp authority';
  end: Date | null;
}

/** The ends of a trust root. Timestamp authorities are optional, so they have an end only if there are some. */
export function rootEnds({ certificateAuthorities, tlogs, ctlogs, timestampAuthorities }: TrustRoot): RootEnd[] {
  const endOf = (kind: TrustRoot['certificateAuthorities']) =>
    latest(
      kind.map(({ validFor, certChain }) => earliest([validFor, ...certChain.map(({ notAfter: end }) => ({ end }))])),
    );
  return [
    { what: 'certificate authority', end: endOf(certificateAuthorities) },
    { what: 'transparency log', end: latest(tlogs.map(({ validFor }) => earliest([validFor]))) },
    { what: 'certificate log', end: latest(ctlogs.map(({ validFor }) => earliest([validFor]))) },
    ...(timestampAuthorities.length === 0
      ? []
      : [{ what: 'timestamp authority' as const, end: endOf(timestampAuthorities) }]),
  ];
}

/** The library's end of an authority or log that does not end. */
const never = 8_640_000_000_000_000;

function earliest(validity: readonly { end: Date }[]): number {
  return Math.min(...validity.map(({ end }) => end.getTime()));
}

/** 1970 without any. */
function latest(times: number[]): Date | null {
  const last = Math.max(0, ...times);
  return last === never ? null : new Date(last);
}
