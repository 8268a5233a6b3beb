import { dsse } from '@sigstore/core';
import { predicateType, statementType } from '../formats.ts';
import type { Statement } from '../statement.ts';

/** A DSSE envelope, as JSON; bytes are base64. */
export interface Envelope {
  payload: string;
  payloadType: string;
  signatures: [{ sig: string }];
}

/** Signs what is stated of a bundle: an in-toto statement in a DSSE envelope (spec §18). */
export async function signEnvelope(
  { sha256, claim }: Statement,
  sign: (bytes: Buffer) => Promise<Buffer> | Buffer,
): Promise<Envelope> {
  const { name, env, version, sequence } = claim;
  const statement = {
    _type: 'https://in-toto.io/Statement/v1',
    subject: [{ digest: { sha256 } }],
    predicateType,
    predicate: { name, env, version, sequence },
  };
  const payload = Buffer.from(JSON.stringify(statement));
  const sig = await sign(dsse.preAuthEncoding(statementType, payload));
  return {
    payload: payload.toString('base64'),
    payloadType: statementType,
    signatures: [{ sig: sig.toString('base64') }],
  };
}
