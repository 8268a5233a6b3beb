import type { Bundle } from '@sigstore/bundle';
import { SignatureFault } from './signatureFault.ts';

type LogEntry = Bundle['verificationMaterial']['tlogEntries'][number];

/**
 * Requires that a proof of inclusion names the tree of its checkpoint, and that the checkpoint is one signed note: the library
 * verifies the checkpoint alone, and looks at neither. Throws `SignatureFault`.
 */
export function requireOneTree({ inclusionProof: proof }: LogEntry): void {
  if (proof === undefined) return;
  const [note = '', ...rest] = (proof.checkpoint?.envelope ?? '').split('\n\n');
  const [, treeSize, rootHash] = note.split('\n');
  if (proof.treeSize !== treeSize || proof.rootHash.toString('base64') !== rootHash)
    throw new SignatureFault('its inclusion proof is of another tree than its checkpoint');
  if (!/^(\u2014 \S+ \S+\n)+$/.test(rest.join('\n\n'))) throw new SignatureFault('its checkpoint is no signed note');
}
