import { failedFault, refusedFault } from '../../../machines/fault.ts';
import type { Bundle } from '../../../machines/types.ts';
import type { TrustSettings } from '../../api/trust.rules.ts';
import { writtenImages } from '../../bundle/compose/composeProject.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { isImageId, parseImageReference, registryOf } from '../../registry/imageReference.rules.ts';
import { findSignatures } from '../../registry/imageSignatures.ts';
import { digestOfTag, openRepository, type RegistryAccess, RegistryError } from '../../registry/repository.ts';
import { missingSignatures } from '../../signatures/judgement.rules.ts';
import { readTrust, type ReadTrust } from '../../signatures/signatureFiles.ts';
import type { verifyImage } from '../../signatures/verifyImage.ts';
import type { VerifiedImage } from '../state/state.rules.ts';
import type { Settings } from '../config/settings.ts';
import type { Vault } from '../secrets/vault.ts';
import { type Registries, registryLoginsOf } from '../engine/registries.ts';
import type { Decision } from '../journal/trace.rules.ts';
import type { ServiceFingerprints } from '../release/services.rules.ts';
import type { AgentCargo, Carried } from '../release/cargo.ts';

/** Dependencies of verifying the signatures of images. */
export interface ImageDependencies {
  readonly settings: Settings;
  readonly vault: Vault;
  readonly registries: Registries;
  readonly recordDecision: (decision: Decision) => void;
}

/**
 * Resolves the image of each active service to a digest, verifies its signers, and replaces the reference by that
 * digest. Does nothing without `trust.images` (spec §18). A registry that cannot be reached is `PULL_FAILED`.
 */
export async function verifyImages(
  deps: ImageDependencies,
  { bundle, project, model: { services } }: Carried<'bundle' | 'project' | 'model'>,
  signal: AbortSignal,
): Promise<Carried<'images'>> {
  const { trust } = deps.settings;
  if (trust.images === null) return { images: { verified: [], services } };
  const verdicts = await judgeAll(deps, { bundle, services, trust: trust.images }, signal);
  const images = requireSigned(deps, { services, verdicts }, writtenImages(project));
  for (const { service, digest, signers } of images.verified)
    deps.recordDecision({ word: 'image-signed', service, digest, signers: [...signers] });
  return { images };
}

/**
 * Verifies each image once, by its reference as compose rendered it, so that services with the same reference get the
 * same digest.
 */
async function judgeAll(
  deps: ImageDependencies,
  { bundle, services, trust }: { bundle: Bundle; services: ServiceFingerprints; trust: TrustSettings },
  signal: AbortSignal,
): Promise<ReadonlyMap<string, ImageVerdict>> {
  const access = deps.registries.open(registryLoginsOf(deps, bundle), signal);
  deps.vault.noteUntrackedSecrets(); // tokens of registries
  const read = await readTrust(trust);
  const { verifyImage } = await import('../../signatures/verifyImage.ts');
  const verdicts = new Map<string, ImageVerdict>();
  try {
    for (const [service, { image: concealed }] of services) {
      const image = deps.vault.reveal(concealed);
      if (verdicts.has(image)) continue;
      const verdict = await judgeImage(image, { ...read, access, verifyImage }).catch((error: unknown) => {
        if (!(error instanceof RegistryError)) throw error;
        // the message contains it URL-encoded, a form that redaction does not know
        const why = deps.vault.isSecretFree(registryOf(image)) ? error.message : 'its registry cannot be asked';
        throw failedFault('PULL_FAILED', `${nameOf(deps, service, image)} cannot be verified: ${why}`);
      });
      verdicts.set(image, verdict);
    }
  } finally {
    access.close();
  }
  return verdicts;
}

/** The images with their digests, which the service definitions name from here on. Throws `SIGNATURE_REFUSED`. */
function requireSigned(
  deps: ImageDependencies,
  { services, verdicts }: { services: ServiceFingerprints; verdicts: ReadonlyMap<string, ImageVerdict> },
  written: ReadonlyMap<string, string>,
): AgentCargo['images'] {
  const [verified, faults]: [VerifiedImage[], string[]] = [[], []];
  const pinned = new Map(services);
  for (const [service, definition] of services) {
    const rendered = deps.vault.reveal(definition.image);
    const verdict = verdicts.get(rendered) ?? { fault: 'it was not verified' };
    const image = written.get(service);
    if ('fault' in verdict) faults.push(`${nameOf(deps, service, rendered)}: ${verdict.fault}`);
    else if (image === undefined) faults.push(`service ${service}: its image is not written in the bundle`);
    else {
      const { digest, signers } = verdict;
      const pin = (name: string) => (rendered.includes('@') ? name : `${name}@${digest}`);
      verified.push({ service, image: pin(image), digest, signers });
      pinned.set(service, { ...definition, image: deps.vault.conceal(pin(rendered)) });
    }
  }
  if (faults.length > 0) throw refusedFault([{ code: 'SIGNATURE_REFUSED', detail: faults.join('; ') }]);
  return { verified, services: pinned };
}

/** The name of an image in messages; a reference that is empty or contains a secret is left out. */
function nameOf(deps: ImageDependencies, service: string, image: string): string {
  return image !== '' && deps.vault.isSecretFree(image)
    ? `image ${printable(image)} of ${service}`
    : `the image of ${service}`;
}

/** The digest of an image with enough signatures, and its signers; or why the image is refused. */
export type ImageVerdict = { digest: string; signers: string[] } | { fault: string };

interface JudgeContext extends ReadTrust {
  access: RegistryAccess;
  verifyImage: typeof verifyImage;
}

/**
 * Verifies the image that a reference currently names in its registry. Throws `RegistryError` when the registry cannot
 * be reached.
 */
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
  if (isImageId(reference)) return 'it is the id of an image on this host: use its name in a registry';
  if (digest === null || /^sha256:[0-9a-f]{64}$/.test(digest)) return null;
  return 'its digest is not a sha256: name it by that, or by a tag';
}
