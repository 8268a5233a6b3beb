import { refusedFault } from '../../../machines/fault.ts';
import type { Bundle, DesiredState, Manifest, Sha } from '../../../machines/types.ts';
import type { BundleContents } from '../../bundle/archive/inventory.rules.ts';
import { readManifest } from '../../bundle/readBundle.ts';
import { digestOf } from '../../core/files.ts';
import { judgeClaims, signatureRefusal, type Verification } from '../../signatures/judgement.rules.ts';
import { readTrust } from '../../signatures/readTrust.ts';
import { createEmptyDirectory } from '../release/integrity.ts';
import type { Settings } from '../config/settings.ts';
import type { Tenancy } from '../transport/tenancy.ts';
import type { Releases } from '../release/releases.ts';
import type { Compose } from '../engine/compose.ts';
import type { Download } from '../transport/download.ts';
import type { Decision } from '../journal/trace.rules.ts';
import type { VerifiedImage } from '../state/state.rules.ts';
import type { ServiceEdges } from '../release/services.rules.ts';
import type { ReleaseTick } from '../release/fingerprints.ts';
import type { GrantedPrivileges } from '../release/grantedPrivileges.rules.ts';
import type { WrittenService } from '../../bundle/plan/writtenServices.rules.ts';
import type { ComposeProject } from '../../bundle/compose/composeProject.rules.ts';
import { readComposeProject } from '../../bundle/compose/composeFiles.ts';
import type { Progress } from '../journal/liveLine.ts';

/** What downloading, verifying and unpacking a bundle takes. */
export interface UnpackDependencies {
  readonly settings: Settings;
  readonly tenancy: Tenancy;
  readonly releases: Releases;
  readonly compose: Compose;
  readonly download: Download;
  readonly stop: AbortController;
  readonly recordDecision: (decision: Decision) => void;
  readonly tick: ApplyTick;
}

/** What the steps of an apply leave for later ones. */
export interface ApplyTick extends ValidatedTick {
  /** Genuine signatures of the bundle that is being applied; null where the host trusts no signatures. */
  signatures: Verification | null;
  /** Who signed the bundle that is being applied. */
  signers: readonly string[];
  /** Contents of the bundle that is being applied, once it is unpacked. */
  bundleContents: BundleContents | null;
  /** The images of the bundle that is being applied, where the host trusts signatures of images. */
  images: readonly VerifiedImage[];
  /** How the services of the release that is being applied hang on each other. */
  serviceEdges: { sha: Sha; services: ReadonlyMap<string, ServiceEdges> } | null;
}

/** What the steps of an apply leave for what changes containers. */
export interface ValidatedTick extends ReleaseTick {
  /** The compose project of the bundle that is being applied, whose files are read once. */
  composeProject: { sha: Sha; project: ComposeProject } | null;
  /** True where this host has applied the content of the bundle before. */
  isAppliedContent: boolean;
  /** Privileges that the validated model of the bundle grants to its services. */
  grantedPrivileges: GrantedPrivileges | null;
  /** The services of the release that is being applied, as its rendered model says. */
  writtenServices: { sha: Sha; services: readonly WrittenService[] } | null;
  /** Progress of the running service; null when the service does not measure it. */
  readProgress: (() => Progress | Promise<Progress>) | null;
}

/** Unpacks the verified bundle into staging and reads its manifest; throws the refusals of both (spec §5). */
export async function unpack(
  deps: UnpackDependencies,
  { desired }: { desired: DesiredState },
  signal: AbortSignal,
): Promise<Bundle> {
  const { releases, settings, tick } = deps;
  const sha = desiredShaOf(desired);
  const dir = releases.stagingOf(sha);
  await createEmptyDirectory(dir, signal);
  const archive = await import('../../bundle/archive/archive.ts');
  tick.bundleContents = await archive.unpack({
    file: releases.bundleOf(sha),
    sha256: sha,
    into: dir,
    limits: settings.limits,
    signal,
  });
  try {
    const manifest = await readSignedManifest(deps, dir);
    return { sha, dir, manifest };
  } catch (error) {
    await releases.clearStaging(sha, signal);
    throw error;
  }
}

async function readSignedManifest(deps: UnpackDependencies, dir: string): Promise<Manifest> {
  const parsed = await readManifest(dir, deps.settings.env);
  if ('refusal' in parsed) throw refusedFault([parsed.refusal]);
  deps.tick.signers = requireSigners(deps, parsed.manifest);
  return parsed.manifest;
}

/** Contents of the bundle that this tick unpacked. */
export function bundleContentsOf({ tick }: { tick: ApplyTick }): BundleContents {
  if (tick.bundleContents === null) throw new TypeError('no bundle was unpacked');
  return tick.bundleContents;
}

/** Downloads the bundle unless it is on disk; a refused bundle is not downloaded again (spec §5.1). */
export async function download(
  deps: UnpackDependencies,
  { desired }: { desired: DesiredState },
  signal: AbortSignal,
): Promise<void> {
  const { recordDecision, releases, tick } = deps;
  const sha = desiredShaOf(desired);
  const file = releases.bundleOf(sha);
  if ((await digestOf(file, signal)) === sha) return;
  let bytes = 0;
  tick.readProgress = () => ({ done: bytes, total: desired.sizeBytes, unit: 'bytes' });
  const onProgress = (received: number) => void (bytes = received);
  const request = { sha, sizeBytes: desired.sizeBytes, file, partialFile: releases.partialFileOf(sha), onProgress };
  probeCompose(deps);
  await deps.download(request, signal);
  recordDecision({ word: 'downloaded', bytes });
}

/** Asks compose for its version during the download, because that is slow; `validateBundle` reports the result. */
function probeCompose({ compose, stop }: UnpackDependencies): void {
  void compose.probe(stop.signal).catch(() => undefined);
}

/** The sha to apply; the check-in guarantees it for the action `apply`. */
function desiredShaOf({ desiredSha }: DesiredState): string {
  if (desiredSha === null) throw new TypeError('apply without a desired sha');
  return desiredSha;
}

/**
 * Verifies who signed the archive, before it is unpacked; without `trust.bundles` nothing is asked or loaded (spec §18). The
 * claims of the signatures are judged by `requireSigners`, as soon as there is a manifest.
 */
export async function verifySignatures(
  { settings, tenancy, tick }: UnpackDependencies,
  { desired }: { desired: DesiredState },
  signal: AbortSignal,
): Promise<void> {
  if (settings.trust.bundles === null) return;
  const { trust, problems } = readTrust(settings.trust.bundles);
  const sha = desiredShaOf(desired);
  const signatures = await tenancy.signatures(sha, signal);
  const library = await import('../../signatures/verifySignatures.ts');
  const { verified, faults } = library.verifySignatures(trust, sha, signatures);
  const signers = [...new Set(verified.map(({ signer }) => signer))];
  const all = [...faults, ...problems];
  const refusal = signatureRefusal({ threshold: trust.threshold, signers, count: signatures.length, faults: all });
  if (refusal !== null) throw refusedFault([refusal]);
  tick.signatures = { verified, faults: all };
}

/** Requires that enough signers signed just this manifest; returns who did, none where the host trusts no signatures. */
function requireSigners({ settings, tick, recordDecision }: UnpackDependencies, manifest: Manifest): string[] {
  if (settings.trust.bundles === null) return [];
  if (tick.signatures === null) throw new TypeError('the signatures of the bundle were not verified');
  const { signers, refusal } = judgeClaims(tick.signatures, manifest, settings.trust.bundles.threshold ?? 1);
  if (refusal !== null) throw refusedFault([refusal]);
  recordDecision({ word: 'signed', signers });
  return signers;
}

/** The compose project of the bundle that is being applied; a tick reads its files once. */
export async function projectOfBundle(
  { tick }: { tick: ValidatedTick },
  bundle: Bundle,
  signal: AbortSignal,
): Promise<ComposeProject> {
  if (tick.composeProject?.sha === bundle.sha) return tick.composeProject.project;
  const { project } = await readComposeProject(bundle, signal);
  tick.composeProject = { sha: bundle.sha, project };
  return project;
}
