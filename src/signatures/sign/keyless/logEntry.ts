import type { Envelope } from '../envelope.ts';

/** What is sent to Rekor to take in an envelope that was signed with the key of this certificate, in PEM. */
export function entryRequest(envelope: Envelope, certificate: string): object {
  const verifiers = [Buffer.from(certificate).toString('base64')];
  const proposedContent = { envelope: JSON.stringify(envelope), verifiers };
  return { apiVersion: '0.0.1', kind: 'dsse', spec: { proposedContent } };
}

/** The entry of Rekor's answer, as a Sigstore bundle has it. Throws for what is no such answer. */
export function entryOfAnswer(answer: unknown): object {
  const [{ body, integratedTime, logID, logIndex, verification }] = Object.values(answer as object) as [AnsweredEntry];
  const { inclusionProof: proof, signedEntryTimestamp } = verification;
  const { kind, apiVersion } = JSON.parse(Buffer.from(body, 'base64').toString('utf8')) as Record<string, unknown>;
  return {
    logIndex: String(logIndex),
    logId: { keyId: base64(logID) },
    kindVersion: { kind, version: apiVersion },
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp },
    inclusionProof: {
      logIndex: String(proof.logIndex),
      rootHash: base64(proof.rootHash),
      treeSize: String(proof.treeSize),
      hashes: proof.hashes.map(base64),
      checkpoint: { envelope: proof.checkpoint },
    },
    canonicalizedBody: body,
  };
}

/** An entry in the words of Rekor; ids and hashes are hex. */
interface AnsweredEntry {
  body: string;
  integratedTime: number;
  logID: string;
  logIndex: number;
  verification: {
    inclusionProof: { checkpoint: string; hashes: string[]; logIndex: number; rootHash: string; treeSize: number };
    signedEntryTimestamp: string;
  };
}

function base64(hex: string): string {
  return Buffer.from(hex, 'hex').toString('base64');
}
