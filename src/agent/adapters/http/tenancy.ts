import { parseAnswer, type Answer } from '../../../protocol/checkIn.ts';
import { judgeLease, type Lease } from '../../../protocol/lease.ts';
import type { Vault } from '../../secrets/vault.ts';
import type { Call } from './call.ts';
import type { Http } from './http.ts';

/** The calls of the tenancy service that every tick makes (spec §10); all carry the vault's token as bearer. */
export interface Tenancy {
  checkIn: (body: object, signal: AbortSignal, tries?: number) => Promise<Answer>;
  /** Asks for the right to log in once; its JWT is redacted from here on. */
  lease: (purpose: 'apply' | 'renew', signal: AbortSignal) => Promise<Lease>;
  /** `rejected` means that this report will never be taken, so that it need not be kept. */
  report: (body: object, signal: AbortSignal) => Promise<'delivered' | 'rejected'>;
}

/** What tells the adapters who they are and what must stay hidden. */
export interface Caller {
  http: Http;
  /** Its token is the bearer; what is guarded is redacted from then on, and what is told beyond that is noted. */
  vault: Pick<Vault, 'token' | 'guard' | 'noteUnheld'>;
  /** The tick's id, the same for all its calls. */
  requestId: () => string;
}

/** The tenancy service behind `http`. */
export function createTenancy({ http, vault, requestId }: Caller): Tenancy {
  const post = (call: Pick<Call, 'what' | 'path' | 'body' | 'signal'> & Partial<Call>) =>
    http.call({
      peer: 'tenancy',
      method: 'POST',
      requestId: requestId(),
      headers: { authorization: `Bearer ${vault.token()}` },
      ...call,
    });
  return {
    checkIn: async (body, signal, tries = 3) => {
      const { json } = await post({ what: 'check-in', path: '/v1/agent/check-in', body, signal, tries });
      return parseAnswer(json);
    },
    lease: async (purpose, signal) => {
      vault.noteUnheld();
      const { json } = await post({ what: 'lease', path: '/v1/agent/lease', body: { purpose }, signal });
      const judged = judgeLease(json);
      if ('fault' in judged) throw judged.fault;
      vault.guard(judged.lease.jwt);
      return judged.lease;
    },
    report: async (body, signal) => {
      const call = { what: 'report', path: '/v1/agent/report', accepts: rejections, ignoresBody: true } as const;
      const { status } = await post({ ...call, body, signal });
      return rejections.includes(status) ? 'rejected' : 'delivered';
    },
  };
}

/** Statuses that say that the report itself is at fault. */
const rejections = [400, 413, 422];
