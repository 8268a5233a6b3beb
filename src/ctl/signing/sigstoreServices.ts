import { entryOfAnswer, entryRequest } from '../../signatures/sign/keyless/logEntry.ts';
import type { SigstoreServices } from '../../signatures/sign/keyless/signKeyless.ts';
import type { SigstoreTarget } from '../config/sigstore.ts';
import { CtlError, exits } from '../ctlError.ts';
import type { Post, SigstoreCall } from './post.ts';

/** The services of a Sigstore instance, for the holder of an OIDC token. They throw CtlErrors. */
export function sigstoreServices({ fulcio, rekor, tsa }: SigstoreTarget, token: string, post: Post) {
  const postJson = async (url: URL, body: object, refusal: SigstoreCall['refusal']) =>
    parse(await post({ url, type: 'application/json', body: JSON.stringify(body), refusal }), url);
  return {
    certify: async (request) => {
      const certificateSigningRequest = Buffer.from(request).toString('base64');
      const body = { credentials: { oidcIdentityToken: token }, certificateSigningRequest };
      const url = below(fulcio, '/api/v2/signingCert');
      return certificateOf(await postJson(url, body, certificateRefused), url);
    },
    log: async (envelope, certificate) => {
      const url = below(rekor, '/api/v1/log/entries');
      const answer = await postJson(url, entryRequest(envelope, certificate), logRefused);
      return reading(url, () => entryOfAnswer(answer));
    },
    timestamp:
      tsa === null
        ? null
        : (body) => post({ url: tsa, type: 'application/timestamp-query', body, refusal: timestampRefused }),
  } satisfies SigstoreServices;
}

const certificateRefused = {
  code: 'CERTIFICATE_REFUSED',
  remedy: 'the certificate authority must know the issuer of the token, and take its claims',
};
const logRefused = {
  code: 'LOG_REFUSED',
  remedy: 'the log must have version 1 of Rekor’s API, and take DSSE envelopes',
};
const timestampRefused = {
  code: 'TIMESTAMP_REFUSED',
  remedy: 'name the address of the authority with its path by --tsa',
};

/** What Fulcio answers. */
interface FulcioAnswer {
  signedCertificateEmbeddedSct?: { chain: { certificates: string[] } };
}

function certificateOf(answer: unknown, url: URL): string {
  const { signedCertificateEmbeddedSct: signed } = Object(answer) as FulcioAnswer;
  if (signed === undefined)
    throw new CtlError({
      exit: exits.failed,
      code: 'PROTOCOL_INVALID',
      message: `${url.origin} gave no certificate that holds the promise of a certificate log (SCT)`,
      remedy: 'no host would believe it: have the certificate authority log what it issues (RFC 6962)',
    });
  return reading(url, () => textOf(signed.chain.certificates[0]));
}

function textOf(value: unknown): string {
  if (typeof value !== 'string') throw new TypeError('no text');
  return value;
}

function parse(body: Buffer, url: URL): unknown {
  return reading(url, () => JSON.parse(body.toString('utf8')) as unknown);
}

function reading<T>({ origin }: URL, read: () => T): T {
  try {
    return read();
  } catch {
    const message = `${origin}: the answer is not one of Sigstore: is this the address of the service?`;
    throw new CtlError({ exit: exits.failed, code: 'PROTOCOL_INVALID', message });
  }
}

function below(base: URL, path: string): URL {
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/$/, '')}${path}`;
  return url;
}
