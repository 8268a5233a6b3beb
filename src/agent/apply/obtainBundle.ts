import { Fault, refusedFault } from '../../../machines/fault.ts';
import type { DesiredState, Manifest, Sha } from '../../../machines/types.ts';
import { readManifest } from '../../bundle/readBundle.ts';
import { digestOf } from '../../core/files.ts';
import { judgeClaims, signatureRefusal, type Verification } from '../../signatures/judgement.rules.ts';
import { readTrust } from '../../signatures/signatureFiles.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Compose } from '../engine/compose.ts';
import { catchFault, type RunningTick } from '../journal/journal.ts';
import type { Decision } from '../journal/trace.rules.ts';
import type { Carried } from '../release/orchestrator.ts';
import { createEmptyDirectory } from '../release/integrity.ts';
import type { Releases } from '../release/releases.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Download } from '../transport/download.ts';
import type { Tenancy } from '../transport/tenancy.ts';

/** Dependencies of downloading, verifying and unpacking a bundle. */
export interface UnpackDependencies {
  readonly settings: Settings;
  readonly tenancy: Tenancy;
  readonly releases: Releases;
  readonly compose: Compose;
  readonly download: Download;
  readonly stop: AbortController;
  readonly recordDecision: (decision: Decision) => void;
  readonly tick: RunningTick;
}

/** Downloads the bundle unless it is on disk; a refused bundle is not downloaded again (spec §5.1). */
export async function download(
  deps: UnpackDependencies,
  { desired }: Carried<'desired'>,
  signal: AbortSignal,
): Promise<Carried<'archive'>> {
  const { recordDecision, releases, tick } = deps;
  const sha = desiredShaOf(desired);
  const archive = { sha, file: releases.bundleOf(sha) };
  const { file } = archive;
  if ((await digestOf(file, signal)) === sha) return { archive };
  let bytes = 0;
  tick.journal.progress = () => ({ done: bytes, total: desired.sizeBytes, unit: 'bytes' });
  const onProgress = (received: number) => void (bytes = received);
  const request = { sha, sizeBytes: desired.sizeBytes, file, partialFile: releases.partialFileOf(sha), onProgress };
  probeCompose(deps);
  await deps.download(request, signal);
  recordDecision({ word: 'downloaded', bytes });
  return { archive };
}

/** Reads the version of compose during the download, because that is slow; `validateBundle` reports the result. */
function probeCompose({ compose, stop }: UnpackDependencies): void {
  void compose.probe(stop.signal).catch(() => undefined);
}

/** The sha to apply; the check-in guarantees it for the action `apply`. */
function desiredShaOf({ desiredSha }: DesiredState): string {
  if (desiredSha === null) throw new TypeError('apply without a desired sha');
  return desiredSha;
}

/**
 * Verifies the signers of the archive before it is unpacked; does nothing without `trust.bundles` (spec §18).
 * `requireSigners` checks the claims of the signatures once there is a manifest.
 */
export async function verifySignatures(
  { settings, tenancy }: UnpackDependencies,
  { archive: { sha } }: Carried<'archive'>,
  signal: AbortSignal,
): Promise<Carried<'signatures'>> {
  if (settings.trust.bundles === null) return { signatures: null };
  const { trust, problems, trustRoot = null } = await readTrust(settings.trust.bundles);
  const found = await tenancy.signatures(sha, signal);
  const library = await import('../../signatures/verifySignatures.ts');
  const { verified, faults } = library.verifySignatures(trust, sha, found);
  const signers = [...new Set(verified.map(({ signer }) => signer))];
  const all = [...faults, ...problems];
  const refusal = signatureRefusal({ threshold: trust.threshold, signers, count: found.length, faults: all });
  if (refusal !== null) throw refusedFault([refusal]);
  return { signatures: { verified, faults: all, trustRoot } };
}

/** Unpacks the verified bundle into staging and reads its manifest; throws the refusals of both (spec §5). */
export async function unpack(
  deps: UnpackDependencies,
  { archive, signatures }: Carried<'archive' | 'signatures'>,
  signal: AbortSignal,
): Promise<Carried<'bundle' | 'contents' | 'signers'>> {
  const { releases, settings } = deps;
  const { sha, file } = archive;
  const dir = releases.stagingOf(sha);
  await createEmptyDirectory(dir, signal);
  const { unpack: unpackArchive } = await import('../../bundle/archive/archive.ts');
  const contents = await unpackArchive({ file, sha256: sha, into: dir, limits: settings.limits, signal });
  const parsed = await readManifest(dir, settings.env);
  if ('refusal' in parsed) throw refusedFault([parsed.refusal]);
  const { manifest } = parsed;
  return { bundle: { sha, dir, manifest }, contents, signers: requireSigners(deps, signatures, manifest) };
}

/**
 * Verifies the signatures that the tenancy service has of the applied bundle now, and records its signers. A bundle that
 * was signed again, or that a changed trust root still verifies, becomes trusted. Does nothing if they are too few or cannot be fetched.
 */
export async function verifyApplied(
  deps: UnpackDependencies & { readonly state: StateStore },
  sha: Sha,
  signal: AbortSignal,
): Promise<void> {
  const { releases, settings, state } = deps;
  const [parsed, record] = [await readManifest(releases.pathOf(sha), settings.env), await releases.readRecord(sha)];
  if ('refusal' in parsed || record === null) return;
  const archive = { sha, file: releases.bundleOf(sha) };
  const judged = await catchFault(async () => {
    const { signatures } = await verifySignatures(deps, { archive }, signal);
    const signers = requireSigners(deps, signatures, parsed.manifest);
    return { signers, trust_root: signatures?.trustRoot ?? null };
  });
  if (judged instanceof Fault) return;
  await releases.writeRecord(sha, { ...record, ...judged });
  await state.update({ applied_signers: judged.signers, applied_root: judged.trust_root });
}

/** Requires enough signatures for exactly this manifest; returns the signers, or none if the host trusts no signers. */
function requireSigners(
  { settings, recordDecision }: UnpackDependencies,
  signatures: Verification | null,
  manifest: Manifest,
): string[] {
  if (signatures === null) return [];
  const { signers, refusal } = judgeClaims(signatures, manifest, settings.trust.bundles?.threshold ?? 1);
  if (refusal !== null) throw refusedFault([refusal]);
  recordDecision({ word: 'signed', signers });
  return signers;
}
