import { version } from '../../core/commandLine.ts';
import { type HttpAnswer, send } from '../../core/httpClient.ts';
import { isObject } from '../../core/json.rules.ts';
import { closeAgents } from '../../core/connector.ts';
import type { Statement } from '../../signatures/readSignature.ts';
import type { NewSignature } from '../../signatures/sign/signBundle.ts';
import type { SigstoreServices } from '../../signatures/sign/signKeyless.ts';
import { entryOfAnswer, entryRequest, identityTokenProblem } from '../../signatures/sign/sigstoreForms.ts';
import { readSettings, readTrustRoot } from '../config/configFiles.ts';
import type { CtlSettings } from '../config/configKeys.ts';
import { caFileOf, serviceUrlOf, widerContextOf } from '../config/connection.ts';
import type { Session } from '../config/session.ts';
import { createProxyAgents } from '../core/proxyAgents.ts';
import { isTemporary, timeout, transportError } from '../core/client.ts';
import { CtlError, exits, usageError } from '../core/ctlError.ts';
import { readSmallFile, readValue } from '../core/input.ts';
import { shorten } from '../core/table.ts';

/** The options for a keyless signature. */
export interface KeylessOptions extends SigstoreOptions {
  identityToken?: string;
}

/**
 * Signs as the holder of an OIDC token, with a certificate of a Sigstore instance, and has it logged there. Throws
 * CtlErrors, and a `SignatureFault` if hosts with the named trust root would reject it.
 */
export async function signByIdentity(
  session: Session,
  statement: Statement,
  options: KeylessOptions,
): Promise<NewSignature & { remarks: [string, string][] }> {
  const { io, options: common } = session;
  const settings = readSettings(common.config, io.env);
  const target = sigstoreOf(options, settings);
  const root = target.root === null ? null : await readTrustRoot(target.root);
  const token = await readIdentityToken(session, options.identityToken);
  const { signKeyless } = await import('../../signatures/sign/signKeyless.ts');
  const { post, close } = openPost(caFileOf(common, io.env, settings), { secret: token, env: io.env });
  try {
    const signed = await signKeyless(statement, sigstoreServices(target, token, post), root);
    return {
      ...signed,
      remarks: [
        ['log', target.rekor.href],
        ['verified', verifiedBy(target.root)],
      ],
    };
  } finally {
    close();
  }
}

function verifiedBy(root: string | null): string {
  return root === null ? 'no: name the trust root of the hosts by --root' : `by ${root}`;
}

/**
 * The OIDC token of the signer: from a file, from standard input (`-`), or from SIGSTORE_ID_TOKEN. Throws
 * IDENTITY_TOKEN_MISSING, and IDENTITY_TOKEN_UNUSABLE for a token that would get no certificate.
 */
async function readIdentityToken({ io, nowMs }: Session, file: string | undefined): Promise<string> {
  const given = file === undefined ? io.env[variable] : await (file === '-' ? readInput(io) : readSmallFile(file));
  const token = given?.trim() ?? '';
  if (token === '')
    throw usageError(
      'IDENTITY_TOKEN_MISSING',
      'there is no OIDC token',
      `name its file by --identity-token, or set ${variable}`,
    );
  const problem = identityTokenProblem(token, nowMs);
  if (problem !== null) throw usageError('IDENTITY_TOKEN_UNUSABLE', `the OIDC token ${problem}`);
  return token;
}

const variable = 'SIGSTORE_ID_TOKEN';

function readInput(io: Session['io']): Promise<string> {
  return readValue(io, undefined, 'OIDC token');
}

/** One call of a service of a Sigstore instance. */
interface SigstoreCall {
  url: URL;
  type: 'application/json' | 'application/timestamp-query';
  body: string | Buffer;
  /** The error for a refusal by the service: its code and its remedy. */
  refusal: { code: string; remedy: string };
}

/** Sends a call once and returns the body of the answer. Throws CtlErrors. */
type Post = (call: SigstoreCall) => Promise<Buffer>;

/**
 * Returns a function for calls that trust the system's authorities and a file. No error contains the secret, whatever a
 * service answers.
 */
function openPost(
  caFile: string | null,
  { secret, env }: { secret: string; env: Session['io']['env'] },
): { post: Post; close: () => void } {
  const agents = createProxyAgents(widerContextOf(caFile), env, { keepAlive: false });
  return {
    post: async ({ url, type, body, refusal }) => {
      const headers = { 'content-type': type, 'user-agent': `deployctl/${version}` };
      const answer = await send({ url, method: 'POST', headers, body, agents, timeout }).catch((error: unknown) => {
        throw transportError(error, url.origin, env);
      });
      if (answer.status >= 200 && answer.status < 300) return answer.body;
      throw refused(answer, { ...refusal, origin: url.origin, secret });
    },
    close: () => closeAgents(agents),
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

/** All three services return errors in this form. */
function messageOf(body: Buffer): string {
  try {
    const json: unknown = JSON.parse(body.toString('utf8'));
    return isObject(json) && typeof json.message === 'string' ? json.message : '';
  } catch {
    return '';
  }
}

/** The services of a Sigstore instance, for the holder of an OIDC token. They throw CtlErrors. */
function sigstoreServices({ fulcio, rekor, tsa }: SigstoreTarget, token: string, post: Post) {
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

/** The response of Fulcio. */
interface FulcioAnswer {
  signedCertificateEmbeddedSct?: { chain: { certificates: string[] } };
}

function certificateOf(answer: unknown, url: URL): string {
  const { signedCertificateEmbeddedSct: signed } = Object(answer) as FulcioAnswer;
  if (signed === undefined)
    throw new CtlError({
      exit: exits.failed,
      code: 'PROTOCOL_INVALID',
      message: `${url.origin} returned a certificate without the promise of a certificate log (SCT)`,
      remedy: 'hosts would reject it: the certificate authority must log its certificates (RFC 6962)',
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

/** The services of a Sigstore instance, and the file of its trust root. */
interface SigstoreTarget {
  fulcio: URL;
  rekor: URL;
  tsa: URL | null;
  root: string | null;
}

/** The options for them. */
export interface SigstoreOptions {
  fulcio?: string;
  rekor?: string;
  tsa?: string;
  root?: string;
}

/** The instance that the Sigstore project runs for everybody. */
export const publicSigstore = { fulcio: 'https://fulcio.sigstore.dev', rekor: 'https://rekor.sigstore.dev' };

/** The instance to sign with: each value from the command line, else config.yaml, else the public one. Throws usage errors. */
export function sigstoreOf(options: SigstoreOptions, { sigstore }: CtlSettings): SigstoreTarget {
  const { fulcio = sigstore.fulcio, rekor = sigstore.rekor, tsa = sigstore.tsa, root = sigstore.root } = options;
  if ((fulcio === null) !== (rekor === null))
    throw usageError(
      'SIGSTORE_INVALID',
      'name --fulcio and --rekor, or neither',
      'with neither, the public instance is asked, whose log shows everybody who signs',
    );
  return {
    fulcio: serviceUrlOf(fulcio ?? publicSigstore.fulcio, 'Fulcio (--fulcio)'),
    rekor: serviceUrlOf(rekor ?? publicSigstore.rekor, 'Rekor (--rekor)'),
    tsa: tsa === null ? null : serviceUrlOf(tsa, 'the timestamp authority (--tsa)'),
    root,
  };
}
