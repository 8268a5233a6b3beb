import { createHash } from 'node:crypto';
import { Fault, failedFault, isInterruption, refusedFault, stoppedFault } from '../../../machines/fault.ts';
import { type ImageRule, type ImageTrustSettings, ruleFor, signedRepository } from '../../api/trust.rules.ts';
import { writtenImages } from '../../bundle/compose/composeProject.rules.ts';
import { printable } from '../../core/text.rules.ts';
import {
  type ImageReference,
  isImageId,
  parseImageReference,
  registryOf,
} from '../../registry/imageReference.rules.ts';
import { findSignatures, type FoundSignatures } from '../../registry/imageSignatures.ts';
import {
  digestOfTag,
  openRepository,
  type RegistryAccess,
  RegistryError,
  type Repository,
} from '../../registry/repository.ts';
import type { ImageSignature } from '../../signatures/formats.ts';
import { missingSignatures } from '../../signatures/judgement.rules.ts';
import { readTrust, type ReadTrust, readTrustNow } from '../../signatures/signatureFiles.ts';
import { type BundleTrust, readPublicKey } from '../../signatures/trust.ts';
import type { verifyImage } from '../../signatures/verifyImage.ts';
import type { State, VerifiedImage } from '../state/state.rules.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Compose } from '../engine/compose.ts';
import {
  lastingPauses,
  pausesIn,
  type Registries,
  type RegistryLogin,
  registryLoginsOf,
} from '../engine/registries.ts';
import { catchFault, redactFault, type RunningTick } from '../journal/journal.ts';
import type { Decision } from '../journal/trace.rules.ts';
import { imagesThatRan, serviceReferencesOf } from '../release/images.rules.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';
import { registerEnvForRedaction, type Releases } from '../release/releases.ts';
import type { ServiceFingerprints } from '../release/services.rules.ts';
import type { AgentCargo, Carried } from '../release/orchestrator.ts';
import { readLogins, type SecretsDependencies } from './readSecrets.ts';

/** Dependencies of verifying the signatures of images. */
export interface ImageDependencies {
  readonly settings: Settings;
  readonly vault: Vault;
  readonly registries: Registries;
  readonly state: StateStore;
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
  const users = new Map(
    [...services].reverse().map(([service, { image }]) => [deps.vault.reveal(image), service] as const),
  );
  const logins = registryLoginsOf(deps, bundle);
  const limitS = 2 * deps.settings.http_timeout_s;
  const judged = await judgeAll(deps, { users, logins, limitS, trust: trust.images }, signal);
  const verdicts = new Map<string, ImageVerdict>();
  for (const [image, verdict] of judged)
    if (verdict instanceof Fault) throw verdict;
    else verdicts.set(image, verdict);
  const images = requireSigned(deps, { services, verdicts }, writtenImages(project));
  for (const { service, digest, signers } of images.verified)
    deps.recordDecision({ word: 'image-signed', service, digest, signers: [...signers] });
  return { images };
}

/** Dependencies of verifying the images of a release that was applied before. */
export interface VerifyAgainDependencies extends ImageDependencies, SecretsDependencies {
  readonly releases: Releases;
  readonly compose: Compose;
  readonly tick: RunningTick;
}

/** A release on this host, and the images of it that were verified before. */
type AppliedImages = Pick<ReleaseRecord, 'sha' | 'compose' | 'profiles' | 'images' | 'containers' | 'verified_images'>;

/** Seconds until images are verified again, and seconds for all calls to registries in a tick that starts nothing. */
const [secondsBetweenTries, observedLimitS] = [600, 10];

/**
 * Verifies the images of the applied release, if they are not signed by signers who are trusted now, and records the
 * signers. Does so after a change of the trust or the release, and then every ten minutes; before a start at any time,
 * but once a tick.
 */
export async function verifyAppliedImages(
  deps: VerifyAgainDependencies,
  release: AppliedImages,
  { isStart }: { isStart: boolean },
  signal: AbortSignal,
): Promise<readonly VerifiedImage[]> {
  const { settings, state, tick } = deps;
  const { applied_images = [], images_judged: last } = state.state;
  const digest = createHash('sha256')
    .update(JSON.stringify([release.sha, readTrustNow(settings.trust)]))
    .digest('hex');
  const sinceS = (tick.clock.startedAt.getTime() - Date.parse(last?.at ?? '')) / 1000;
  const isDue = isStart ? sinceS !== 0 : !(sinceS >= 0 && sinceS < secondsBetweenTries);
  if (last?.digest === digest && !isDue) return applied_images;
  const limitS = isStart ? 2 * settings.http_timeout_s : Math.min(observedLimitS, settings.http_timeout_s);
  const verified = await verifyImagesAgain(deps, release, limitS, signal);
  const images_judged = { digest, at: tick.clock.startedAt.toISOString() };
  await state.update({ applied_images: verified, images_judged });
  return verified;
}

/**
 * Verifies the images of a release on this host by the digests that it ran, under the present trust. Those that cannot
 * be verified now stay as recorded; the journal says why.
 */
export async function verifyImagesAgain(
  deps: VerifyAgainDependencies,
  release: AppliedImages,
  limitS: number,
  signal: AbortSignal,
): Promise<VerifiedImage[]> {
  const { settings, tick, vault } = deps;
  const { verified_images: recorded = [] } = release;
  const { images: trust } = settings.trust;
  if (trust === null) return [...recorded];
  const judged = await catchFault(async () => {
    const ran = await readImages(deps, release, signal);
    const users = new Map(ran.map(({ service, image }) => [image, service]));
    const logins: RegistryLogin[] = [];
    for (const registry of new Set(ran.map(({ image }) => registryOf(image))))
      logins.push(...(await readLogins(deps, { sha: release.sha, registry }, signal)));
    return { ran, verdicts: await judgeAll(deps, { users, logins, limitS, trust }, signal) };
  });
  if (judged instanceof Fault) {
    if (isInterruption(judged)) throw judged;
    tick.journal.warn(`images are not verified: ${redactFault(deps, judged).lines.join('; ')}`);
    return [...recorded];
  }
  const verified = judged.ran.flatMap(({ service, image }): VerifiedImage[] => {
    const verdict = judged.verdicts.get(image) ?? { fault: 'it was not verified' };
    if (!(verdict instanceof Fault) && !('fault' in verdict)) {
      const repository = repositoryOf(parseImageReference(image));
      const named = vault.isSecretFree(image) ? { image, repository } : { image: verdict.digest };
      return [{ service, ...named, ...verdict }];
    }
    const why =
      verdict instanceof Fault ? verdict.message : `${nameOf(deps, service, image)} is not verified: ${verdict.fault}`;
    tick.journal.warn(why);
    return [];
  });
  const again = new Set(verified.map(({ service }) => service));
  return [...recorded.filter(({ service }) => !again.has(service)), ...verified];
}

/** Renders the release for the references, then finds their digests in its record. */
async function readImages(
  deps: VerifyAgainDependencies,
  release: AppliedImages,
  signal: AbortSignal,
): Promise<{ service: string; image: string }[]> {
  const { compose, releases, settings } = deps;
  const { sha, compose: files, profiles = [] } = release;
  await registerEnvForRedaction(deps, sha);
  const model = await compose.renderModel({ dir: releases.pathOf(sha), files, profiles }, signal);
  return imagesThatRan(release, serviceReferencesOf(model, release), settings.orchestrator);
}

/** Images to verify under a trust. */
interface ImagesToJudge {
  /** References as compose rendered them, each with a service that has it. */
  users: ReadonlyMap<string, string>;
  logins: readonly RegistryLogin[];
  /** Seconds for all calls to registries together. */
  limitS: number;
  trust: ImageTrustSettings;
}

/**
 * Verifies images side by side, each once, by its reference as compose rendered it, so that services with the same
 * reference get the same digest. Remembers what was verified, and the pauses that registries asked for. An image that
 * cannot be verified now has the fault `PULL_FAILED`.
 */
async function judgeAll(
  deps: ImageDependencies,
  { users, logins, limitS, trust }: ImagesToJudge,
  signal: AbortSignal,
): Promise<Map<string, ImageVerdict | Fault>> {
  const [memory, pauses] = [new ImageMemory(deps.state.state.trusted_images), pausesIn(deps.state.state)];
  const access = deps.registries.open(logins, signal, { limitS, pauses });
  deps.vault.noteUntrackedSecrets(); // tokens of registries
  const { verifyImage } = await import('../../signatures/verifyImage.ts');
  try {
    const judged = [...users].map(async ([image, service]) => {
      const context = { ...(await trustOf(image, trust)), access, verifyImage, memory };
      const verdict = await judgeImage(image, context).catch((error: unknown) => {
        if (!(error instanceof RegistryError)) throw error;
        // the message contains it URL-encoded, a form that redaction does not know
        const why = deps.vault.isSecretFree(registryOf(image)) ? error.message : 'its registry cannot be asked';
        return failedFault('PULL_FAILED', `${nameOf(deps, service, image)} cannot be verified: ${why}`);
      });
      return [image, verdict] as const;
    });
    const settled = await Promise.allSettled(judged);
    await remember(deps, memory, pauses);
    const failed = settled.find((each) => each.status === 'rejected');
    if (failed !== undefined) throw signal.aborted ? stoppedFault() : failed.reason;
    return new Map(settled.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : [])));
  } finally {
    access.close();
  }
}

/** The rule for an image, and the trust that it or, without one, `trust.images` describes. */
async function trustOf(reference: string, trust: ImageTrustSettings): Promise<ReadTrust & { rule: ImageRule | null }> {
  const rule = ruleFor(trust.rules ?? [], repositoryOf(parseImageReference(reference)));
  return { ...(await readTrust(rule ?? trust)), rule };
}

function repositoryOf({ registry, repository }: Pick<ImageReference, 'registry' | 'repository'>): string {
  return `${registry}/${repository}`;
}

/** Writes what is new into state.json. */
async function remember(
  { state, vault }: ImageDependencies,
  memory: ImageMemory,
  pauses: ReadonlyMap<string, number>,
): Promise<void> {
  const registry_pauses = lastingPauses(pauses, vault);
  const { registry_pauses: before = [] } = state.state;
  if (!memory.isChanged && registry_pauses.length === 0 && before.length === 0) return;
  await state.update({ trusted_images: memory.entries(), registry_pauses });
}

type RememberedImage = NonNullable<State['trusted_images']>[number];

/** Images that are remembered at most. */
const maxRemembered = 256;

/** The digests that were verified under a trust: the same keys, identities, root, threshold and name need no registry. */
export class ImageMemory {
  isChanged = false;
  readonly #signers: Map<string, RememberedImage>;

  constructor(remembered: readonly RememberedImage[] = []) {
    this.#signers = new Map(remembered.map((each) => [`${each.digest} ${each.trust}`, each]));
  }

  signersOf(digest: string, trust: string): readonly string[] | null {
    return this.#signers.get(`${digest} ${trust}`)?.signers ?? null;
  }

  add(image: RememberedImage): void {
    this.isChanged = true;
    this.#signers.set(`${image.digest} ${image.trust}`, image);
  }

  /** The newest last. */
  entries(): RememberedImage[] {
    return [...this.#signers.values()].slice(-maxRemembered);
  }
}

/** The sha256 of a trust, and of the name that signatures must have. */
function trustDigest({ threshold, keys, identities, root }: BundleTrust, name: string | null): string {
  const hints = keys.map((pem) => readPublicKey(pem)).map((key) => (typeof key === 'string' ? key : key.hint));
  const holders = identities.map(({ issuer, subject }) => JSON.stringify([issuer, subject]));
  const parts = [threshold, hints.toSorted(), holders.toSorted(), root, name];
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex');
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
      const { digest, ...signed } = verdict;
      const pin = (name: string) => (rendered.includes('@') ? name : `${name}@${digest}`);
      const repository = repositoryOf(parseImageReference(rendered));
      const named = deps.vault.isSecretFree(repository) ? { repository } : {};
      verified.push({ service, image: pin(image), digest, ...named, ...signed });
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
export type ImageVerdict = SignedImage | { fault: string };
type SignedImage = Pick<VerifiedImage, 'digest' | 'signed_as'> & {
  signers: string[];
  trust_root?: NonNullable<VerifiedImage['trust_root']>;
};

interface JudgeContext extends ReadTrust {
  access: RegistryAccess;
  verifyImage: typeof verifyImage;
  /** The rule that the trust is of; null for `trust.images` itself. */
  rule?: ImageRule | null;
  memory?: ImageMemory;
}

/**
 * Verifies the image that a reference currently names in its registry. Enough signatures are enough, whatever the
 * registry answers elsewhere. Throws `RegistryError` when it is unknown whether there are more.
 */
export async function judgeImage(
  reference: string,
  { trust, problems, trustRoot = null, access, verifyImage, rule = null, memory = new ImageMemory() }: JudgeContext,
): Promise<ImageVerdict> {
  const image = parseImageReference(reference);
  const unverifiable = unverifiableReason(reference, image.digest);
  if (unverifiable !== null) return { fault: unverifiable };
  const repository = openRepository(image, access);
  const digest = image.digest ?? (await digestOfTag(repository, image.tag ?? 'latest'));
  const name = signedRepository(repositoryOf(image), rule);
  const underTrust = trustDigest(trust, name);
  const verifiedBy = {
    ...(trustRoot !== null && { trust_root: trustRoot }),
    ...(rule?.signed_as !== undefined && { signed_as: name }),
  };
  const known = memory.signersOf(digest, underTrust);
  if (known !== null) return { digest, signers: [...known], ...verifiedBy };
  const signed = { digest, nameFault: (other: string) => nameFault(other, name) };
  const isEnough = (signatures: ImageSignature[]) =>
    verifyImage(trust, signed, signatures).signers.length >= trust.threshold;
  const found = await findSignatures(repository, digest, isEnough);
  const { signers, faults } = verifyImage(trust, signed, found.signatures);
  const missing = missingSignatures(
    {
      ...{ threshold: trust.threshold, signers, count: found.signatures.length + found.faults.length },
      faults: [...faults, ...found.faults, ...found.forbidden, ...problems],
    },
    rule === null ? 'trust.images' : `the rule of trust.images for ${rule.repository}`,
  );
  if (missing !== null) {
    await requireAnswers(repository, image, found);
    return { fault: missing };
  }
  memory.add({ digest, trust: underTrust, signers });
  return { digest, signers, ...verifiedBy };
}

/** Why a signature may not name a repository; null if it may. */
function nameFault(reference: string, expected: string | null): string | null {
  const named = repositoryOf(parseImageReference(reference));
  if (expected === null || named === expected) return null;
  return `it names ${printable(named)} and not ${printable(expected)} (a rule of trust.images may permit that: signed_as)`;
}

/**
 * Throws `RegistryError` unless the registry said of each place whether there are signatures. 403 for a tag counts as a missing tag
 * if the image itself can be read.
 */
async function requireAnswers(
  repository: Repository,
  { digest }: ImageReference,
  { unanswered, forbidden }: FoundSignatures,
): Promise<void> {
  if (unanswered.length > 0) throw new RegistryError([...new Set(unanswered)].join('; '));
  if (forbidden.length > 0 && digest !== null) await digestOfTag(repository, digest);
}

function unverifiableReason(reference: string, digest: string | null): string | null {
  if (reference === '') return 'it has no name: only an image in a registry can be signed';
  if (isImageId(reference)) return 'it is the id of an image on this host: use its name in a registry';
  if (digest === null || /^sha256:[0-9a-f]{64}$/.test(digest)) return null;
  return 'its digest is not a sha256: name it by that, or by a tag';
}
