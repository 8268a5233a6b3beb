import type { Sha } from '../../../machines/types.ts';
import type { CheckInRequest } from '../../api/checkIn.rules.ts';
import {
  type CheckInResponse,
  type Lease,
  type LeaseRequest,
  parseCheckInResponse,
  parseLeaseResponse,
} from '../../api/answers.rules.ts';
import { maxSignatureListBytes, parseSignatureList, signaturesTooLarge } from '../../api/trust.rules.ts';
import type { Vault } from '../secrets/vault.ts';
import type { HttpClient } from './httpClient.ts';
import type { HttpCall } from './httpRequest.ts';

/** The calls to the tenancy service that every tick makes (spec §10); all carry the token as bearer. */
export interface Tenancy {
  checkIn: (body: CheckInRequest, signal: AbortSignal, tries?: number) => Promise<CheckInResponse>;
  /** Requests a lease for one login; its JWT is registered for redaction. */
  lease: (purpose: LeaseRequest['purpose'], signal: AbortSignal) => Promise<Lease>;
  /**
   * The signatures of a bundle, as JSON; empty if the service has no signatures. Throws SIGNATURE_REFUSED for an
   * invalid list.
   */
  signatures: (sha: Sha, signal: AbortSignal) => Promise<unknown[]>;
  /** `rejected` means that this report will never be accepted, so it need not be kept. */
  report: (body: object, signal: AbortSignal) => Promise<'delivered' | 'rejected'>;
}

/** The common dependencies of calls to both services. */
export interface ApiContext {
  http: HttpClient;
  /** Holds the bearer token, and the secrets to redact. */
  vault: Pick<Vault, 'token' | 'registerForRedaction' | 'noteUntrackedSecrets'>;
  /** The id of the tick, the same for all its calls. */
  requestId: () => string;
}

/** The common dependencies of calls to the tenancy service. */
export interface TenancyContext extends ApiContext {
  /** The header by which a call joins the trace of the tick; null if traces are not sent. */
  traceparent: () => string | null;
}

/** The headers that only the tenancy service gets. */
export function tenancyHeaders({
  vault,
  traceparent,
}: Pick<TenancyContext, 'vault' | 'traceparent'>): Record<string, string> {
  const parent = traceparent();
  return { authorization: `Bearer ${vault.token()}`, ...(parent !== null && { traceparent: parent }) };
}

/** The tenancy service, called through `http`. */
export function createTenancy(context: TenancyContext): Tenancy {
  const { http, vault, requestId } = context;
  const send = (call: Pick<HttpCall, 'operation' | 'path' | 'signal'> & Partial<HttpCall>) =>
    http.call({
      peer: 'tenancy',
      method: 'POST',
      requestId: requestId(),
      headers: tenancyHeaders(context),
      ...call,
    });
  return {
    checkIn: async (body, signal, tries = 3) => {
      const { json } = await send({ operation: 'check-in', path: '/v1/agent/check-in', body, signal, tries });
      return parseCheckInResponse(json);
    },
    lease: async (purpose, signal) => {
      vault.noteUntrackedSecrets();
      const { json } = await send({ operation: 'lease', path: '/v1/agent/lease', body: { purpose }, signal });
      const parsed = parseLeaseResponse(json);
      if ('fault' in parsed) throw parsed.fault;
      vault.registerForRedaction(parsed.lease.jwt);
      return parsed.lease;
    },
    signatures: async (sha, signal) => {
      const { json, status } = await send({ ...signaturesCall, path: `/v1/agent/bundles/${sha}/signatures`, signal });
      return status === notFound ? [] : parseSignatureList(json);
    },
    report: async (body, signal) => {
      const call = {
        operation: 'report',
        path: '/v1/agent/report',
        accepts: rejectionStatuses,
        ignoresBody: true,
      } as const;
      const { status } = await send({ ...call, body, signal });
      return rejectionStatuses.includes(status) ? 'rejected' : 'delivered';
    },
  };
}

/** A service that is older than signatures, or has lost the bundle: in both cases there are no signatures. */
const notFound = 404;

const signaturesCall = {
  operation: 'signatures',
  method: 'GET',
  accepts: [notFound],
  maxBytes: maxSignatureListBytes,
  tooLarge: signaturesTooLarge(),
} as const;

/** Statuses that mean that the report itself is invalid. */
const rejectionStatuses = [400, 413, 422];
