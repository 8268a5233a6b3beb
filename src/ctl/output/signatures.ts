import type { Bundle } from '../api/types.ts';
import { shortSha } from './sha.ts';

/** What is told of the signatures of a bundle; nothing where none is required. */
export function signatureFacts({ signature = 'not required', signers = [] }: Bundle): [label: string, value: string][] {
  if (signature === 'not required') return [];
  return [['signature', signature], ...signers.map((signer): [label: string, value: string] => ['signer', signer])];
}

/** The commands that finish a bundle which awaits signatures, for its archive in `file`, or after fetching it. */
export function signatureSteps({ env, sha256 }: Pick<Bundle, 'env' | 'sha256'>, file?: string): string[] {
  const sha = shortSha(sha256);
  const archive = quote(file ?? `${sha}.tar.gz`);
  return [
    ...(file === undefined ? [`deployctl bundle fetch ${sha} --out ${archive}`] : []),
    `deployctl bundle sign ${archive} --key KEY`,
    `deployctl signature add ${sha} ${archive}.sigstore.json`,
    `deployctl promote ${env} ${sha}`,
  ];
}

/** The same as facts, where they are needed. */
export function signatureStepFacts(bundle: Bundle, file?: string): [label: string, value: string][] {
  if (bundle.signature !== 'awaiting signature') return [];
  return signatureSteps(bundle, file).map((step) => ['next', step]);
}

/** One word of a shell. */
function quote(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
