import { isImageId, parseImageReference } from '../../../registry/imageReference.rules.ts';
import { digestOfTag, openRepository, type RegistryAccess } from '../../../registry/repository.ts';
import { findSignatures } from '../../../registry/imageSignatures.ts';
import type { verifyImage } from '../../../signatures/verifyImage.ts';
import type { ReadTrust } from '../../../signatures/readTrust.ts';
import { missingSignatures } from '../../../signatures/judgement.rules.ts';

/** The digest of an image that is signed as the host demands, and who signed; or why the image is refused. */
export type ImageVerdict = { digest: string; signers: string[] } | { fault: string };

interface JudgeContext extends ReadTrust {
  access: RegistryAccess;
  verifyImage: typeof verifyImage;
}

/** Judges the image that a reference stands for in its registry now. Throws `RegistryError` when the registry cannot be asked. */
export async function judgeImage(
  reference: string,
  { trust, problems, access, verifyImage }: JudgeContext,
): Promise<ImageVerdict> {
  const image = parseImageReference(reference);
  const unverifiable = unverifiableReason(reference, image.digest);
  if (unverifiable !== null) return { fault: unverifiable };
  const repository = openRepository(image, access);
  const digest = image.digest ?? (await digestOfTag(repository, image.tag ?? 'latest'));
  const found = await findSignatures(repository, digest);
  const { signers, faults } = verifyImage(trust, digest, found.signatures);
  const all = [...faults, ...found.faults, ...problems];
  const count = found.signatures.length + found.faults.length;
  const missing = missingSignatures({ threshold: trust.threshold, signers, count, faults: all }, 'trust.images');
  return missing === null ? { digest, signers } : { fault: missing };
}

function unverifiableReason(reference: string, digest: string | null): string | null {
  if (reference === '') return 'it has no name: only an image in a registry can be signed';
  if (isImageId(reference)) return 'it is the id of an image on this host: name it as it is in a registry';
  if (digest === null || /^sha256:[0-9a-f]{64}$/.test(digest)) return null;
  return 'its digest is no sha256: name it by that, or by a tag';
}
