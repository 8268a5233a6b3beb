import { unpack } from '../../../bundle/archive.ts';
import { bundleFactsOf, readBundle } from '../../../bundle/readBundle.ts';
import type { Manifest } from '../../../../machines/types.ts';
import { bundleSizeOf } from '../../rules/hostWarnings.ts';
import { addAuditEntry } from '../../store/audit.ts';
import { findBundle } from '../../store/bundles.ts';
import type { BundleRow } from '../../store/database.ts';
import { findEnv } from '../../store/envs.ts';
import { conflict, notFound, type ApiError } from '../apiError.ts';
import { auditEntry } from '../audit.ts';
import type { Dependencies } from '../dependencies.ts';
import type { AuditCaller, Operator } from '../operator.ts';
import { requirePermission } from '../requirePermission.ts';
import { announceAwaited } from '../webhooks/announce.ts';
import { insertStoredBundle, storeArchive } from './archiveStorage.ts';
import { judgeForHosts } from './judgeForHosts.ts';
import { refusedBundle } from './refusedBundle.ts';
import { withScratchDirectory } from './scratchDirectory.ts';

/** An archive that was pushed, in a file of this host, with the digest and size that it has. */
export interface PushedArchive {
  file: string;
  sha256: string;
  sizeBytes: number;
  operator: Operator;
  caller: AuditCaller;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
}

/** A bundle that was pushed. */
export interface AcceptedBundle {
  bundle: BundleRow;
  /** False if the same archive was there already. */
  created: boolean;
  /** What some hosts would not permit of it. */
  warnings: string[];
}

/**
 * Validates an archive by the rules of the agent, then keeps it. Throws 422 with every refusal that no host lifts, 403
 * and 404 for the env of its manifest, 409 `SEQUENCE_STALE`.
 */
export async function acceptBundle(deps: Dependencies, archive: PushedArchive): Promise<AcceptedBundle> {
  const { manifest, warnings } = await withScratchDirectory(deps, (dir) => validateArchive(deps, archive, dir));
  await storeArchive(deps, archive);
  const row = rowOf(archive, manifest, deps.clock());
  const added = await deps.store.transaction().execute(async (work) => {
    const insertion = await insertStoredBundle(work, row);
    if (insertion === 'envless') throw notFound('env');
    if (insertion === 'stale') throw sequenceStale(manifest);
    await addAuditEntry(work, auditEntry(deps, archive.caller, { target: row.sha256, env: row.env }));
    if (insertion !== 'added') return false;
    await announceAwaited(work, row);
    return true;
  });
  const bundle = added ? row : ((await findBundle(deps.store, row.sha256)) ?? row);
  return { bundle, created: added, warnings };
}

/** Unpacks an archive into `dir`; the env of a manifest is only told of to those whose token is for it. */
async function validateArchive(
  deps: Dependencies,
  { file, sha256, sizeBytes, operator, signal }: PushedArchive,
  dir: string,
): Promise<{ manifest: Manifest; warnings: string[] }> {
  const { store, settings } = deps;
  const readContents = () => unpack({ file, into: dir, limits: settings.limits, signal });
  const bundle = await readBundle({ sha: sha256, dir, readContents });
  if ('refusal' in bundle) throw refusedBundle([bundle.refusal]);
  const { env } = bundle.manifest;
  requirePermission(operator, { role: 'deployer', env });
  if ((await findEnv(store, env)) === null) throw notFound('env');
  const size = bundleSizeOf(bundle.contents, sizeBytes);
  const facts = await bundleFactsOf(bundle, signal);
  const { refusals, warnings } = await judgeForHosts(deps, env, { facts, size });
  if (refusals.length > 0) throw refusedBundle(refusals, env);
  return { manifest: bundle.manifest, warnings };
}

function rowOf({ sha256, sizeBytes, operator }: PushedArchive, manifest: Manifest, now: number): BundleRow {
  const { env, name, version, sequence, production, agent, variables, profiles } = manifest;
  return {
    sha256,
    env,
    name,
    version,
    sequence,
    size_bytes: sizeBytes,
    production: Number(production),
    allow_privileged: Number(agent.allow_privileged),
    allow_rollback: Number(agent.allow_rollback),
    emergency: Number(agent.emergency ?? false),
    received_at: now,
    received_from: operator.name,
    variables: JSON.stringify(variables),
    profiles: JSON.stringify(profiles),
    replaces: null,
  };
}

function sequenceStale({ env, sequence }: Manifest): ApiError {
  const message = `env ${env} has had a bundle of sequence ${sequence} or a higher one`;
  return conflict({ code: 'SEQUENCE_STALE', message, env });
}
