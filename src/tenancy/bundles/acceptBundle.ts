import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { formatFault, type Refusal } from '../../../machines/refusals.ts';
import type { Manifest } from '../../../machines/types.ts';
import type { UnpackedBundle } from '../../bundle/readBundle.ts';
import type { OrchestratorName } from '../../bundle/policy/policyHost.rules.ts';
import type { CheckInRequest, ReportedPolicy } from '../../api/checkIn.rules.ts';
import { maxPushedSequence } from '../../api/checkIn.rules.ts';
import { defaultPolicy, type HostPolicy } from '../../api/hostPolicy.rules.ts';
import { ApiError, conflict, notFound, requestAborted } from '../core/apiError.rules.ts';
import { auditEntry } from '../core/audit.ts';
import { createQueue } from '../core/limiter.ts';
import { type AuditCaller, type Operator, requirePermission } from '../core/permission.rules.ts';
import { listCheckIns } from '../store/agents.ts';
import { findBundle } from '../store/bundles.ts';
import type { BundleRow } from '../store/database.ts';
import { findEnv } from '../store/envs.ts';
import { addAuditEntry } from '../store/people.ts';
import { announceAwaited } from '../webhooks/deliver.ts';
import type { HostKind } from './archiveTasks.ts';
import {
  type ArchiveDependencies,
  insertStoredBundle,
  refusedBundle,
  storeArchive,
  withScratchDirectory,
} from './archives.ts';
import {
  type BundleSize,
  bundleSizeOf,
  commonRefusals,
  exceededLimit,
  formatHostWarnings,
  policyOf,
  policyWarnings,
  type RefusingHost,
} from './hostPolicies.rules.ts';

/** A pushed archive in a local file, with its digest and size. */
export interface PushedArchive {
  file: string;
  sha256: string;
  sizeBytes: number;
  operator: Operator;
  caller: AuditCaller;
  /** The storage had it before the push; its sequence may be lower than other sequences. */
  isAdopted?: boolean;
  /** Called with the environment of the validated archive, before its sequence is compared. */
  onEnv?: (env: string) => Promise<void>;
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
}

/** A bundle that was pushed. */
export interface AcceptedBundle {
  bundle: BundleRow;
  /** False if the same archive was already stored. */
  created: boolean;
  /** Reasons why some hosts would refuse the bundle. */
  warnings: string[];
}

/** Pushed archives that are unpacked at once; others wait, so that they share a bound of the disk. */
const unpackings = createQueue(2);

/**
 * Validates an archive by the agent's rules, then stores it. Throws 422 with every refusal that holds for all hosts,
 * 403 and 404 for the environment of its manifest, and 409 `SEQUENCE_STALE` or `SEQUENCE_TOO_HIGH`.
 */
export async function acceptBundle(deps: ArchiveDependencies, archive: PushedArchive): Promise<AcceptedBundle> {
  const { manifest, warnings } = await unpackings(() =>
    withScratchDirectory(deps, (dir) => validateArchive(deps, archive, dir)),
  );
  await archive.onEnv?.(manifest.env);
  if (!archive.isAdopted && manifest.sequence > maxPushedSequence) throw sequenceTooHigh(manifest);
  await storeArchive(deps, archive);
  const row = rowOf(archive, manifest, deps.clock());
  const added = await deps.store.transaction().execute(async (work) => {
    const insertion = await insertStoredBundle(work, row, archive.isAdopted);
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

/** Unpacks an archive into `dir`. Errors name the manifest's environment only to callers whose token covers it. */
async function validateArchive(
  deps: ArchiveDependencies,
  { file, sha256, sizeBytes, operator, signal }: PushedArchive,
  dir: string,
): Promise<{ manifest: Manifest; warnings: string[] }> {
  const { store, settings } = deps;
  const bundle = await deps.runArchiveTask('read', { file, sha256, into: dir, limits: settings.limits }, signal);
  if ('refusal' in bundle) throw refusedBundle([bundle.refusal]);
  const { env } = bundle.manifest;
  requirePermission(operator, { role: 'deployer', env });
  if ((await findEnv(store, env)) === null) throw notFound('env');
  const size = bundleSizeOf(bundle.contents, sizeBytes);
  const judged = await judgeForHosts(deps, bundle, signal);
  const contents = await deps.runArchiveTask('search', bundle, signal);
  const refusals = [...contents.refusals, ...judged.refusals];
  if (refusals.length > 0) throw refusedBundle(refusals, env);
  const warnings = [...judged.warningsFor(size), ...contents.notices.map(formatFault)];
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
    same_as: null,
    returns_to: null,
  };
}

function sequenceTooHigh({ env, sequence }: Manifest): ApiError {
  const message = `sequence ${sequence} is higher than ${maxPushedSequence}: no room for later bundles would remain`;
  return conflict({ code: 'SEQUENCE_TOO_HIGH', message, env });
}

function sequenceStale({ env, sequence }: Manifest): ApiError {
  const message = `environment ${env} already had a bundle with sequence ${sequence} or a higher one`;
  return conflict({ code: 'SEQUENCE_STALE', message, env });
}

/** Longest pause in milliseconds while a caller sends a body. */
const STALL_MS = 30_000;

/** An archive that was received into a local file. */
interface ReceivedArchive {
  file: string;
  sha256: string;
  sizeBytes: number;
}

/** The upload to receive, and the signal that ends it. */
interface Upload {
  body: Readable;
  /** The digest that the caller announced. */
  sha256: string;
  /** Aborted when the caller disconnects. */
  signal: AbortSignal;
}

/**
 * Receives an archive into a file below the state directory, passes it to `use`, and always removes it afterwards.
 * Throws 413 above `limits.bundle_bytes`, 422 `BUNDLE_DIGEST` if the digest differs, 408 if the upload stalls, and 503
 * `DISK_FULL`.
 */
export async function withReceivedArchive<Result>(
  deps: ArchiveDependencies,
  upload: Upload,
  use: (archive: ReceivedArchive) => Promise<Result>,
): Promise<Result> {
  const maxBytes = deps.settings.limits.bundle_bytes;
  try {
    return await withScratchDirectory(deps, async (dir) =>
      use(await receive(upload, { file: join(dir, 'archive'), maxBytes })),
    );
  } catch (error) {
    throw upload.signal.aborted ? requestAborted() : error;
  }
}

async function receive(
  { body, sha256, signal }: Upload,
  { file, maxBytes }: { file: string; maxBytes: number },
): Promise<ReceivedArchive> {
  const hash = createHash('sha256');
  const stall = setTimeout(() => body.destroy(refusal(408, 'REQUEST_TIMEOUT', 'the upload stalled')), STALL_MS);
  let sizeBytes = 0;
  const measured = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      stall.refresh();
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes)
        throw refusal(413, 'BUNDLE_TOO_LARGE', `a bundle has at most ${maxBytes} bytes (limits.bundle_bytes)`);
      hash.update(chunk);
      yield chunk;
    }
  };
  try {
    await pipeline(body, measured, createWriteStream(file, { flags: 'wx', mode: 0o600 }), { signal });
  } finally {
    clearTimeout(stall);
  }
  const received = hash.digest('hex');
  if (received === sha256) return { file, sha256, sizeBytes };
  const detail = `the ${sizeBytes} bytes have the sha256 ${received}`;
  const refusals = [{ code: 'BUNDLE_DIGEST', detail }];
  throw new ApiError({ status: 422, code: 'BUNDLE_DIGEST', message: detail, refusals });
}

function refusal(status: number, code: string, message: string): ApiError {
  return new ApiError({ status, code, message });
}

/** Number of check-ins to read at a time: each may have a line for each of a hundred containers. */
const PAGE_SIZE = 500;
/**
 * Largest number of different policies to check a bundle against, because each takes some milliseconds. Hosts with
 * further policies are not mentioned.
 */
const MAX_POLICIES = 100;

/** The result of checking a bundle for an environment. */
export interface EnvJudgement {
  /** Refusals that hold for every host of the environment, and for hosts without a policy. */
  refusals: Refusal[];
  /** Refusals of some hosts of the environment, given the size of the archive and its content. */
  warningsFor: (size: BundleSize) => string[];
}

/**
 * Checks a bundle against the newest reported policies of its environment's hosts. Each distinct policy is checked
 * once; for managers of a swarm, by the rules for swarms.
 */
export async function judgeForHosts(
  deps: Pick<ArchiveDependencies, 'store' | 'runArchiveTask'>,
  bundle: UnpackedBundle,
  signal: AbortSignal,
): Promise<EnvJudgement> {
  const { env } = bundle.manifest;
  const hosts: TellingHost[] = [];
  let after: string | null = null;
  do {
    const page = await listCheckIns(deps.store, { env, after, limit: PAGE_SIZE });
    for (const { id, check_in } of page) hosts.push(...tellingHostOf(id, check_in));
    after = page.length < PAGE_SIZE ? null : (page.at(-1)?.id ?? null);
  } while (after !== null);
  const { refusals, refusing } = await judgeByPolicies(deps, { hosts, bundle }, signal);
  const warningsFor = (size: BundleSize) =>
    formatHostWarnings([...hosts.flatMap((host) => exceeding(host, size)), ...refusing]);
  return { refusals, warningsFor };
}

/** A host that reported its limits and policy. */
interface TellingHost {
  id: string;
  name: string;
  reported: ReportedPolicy;
  policy: HostPolicy;
  orchestrator: OrchestratorName;
}

function tellingHostOf(id: string, checkIn: string | null): TellingHost[] {
  if (checkIn === null) return [];
  const { host, policy: reported, swarm } = JSON.parse(checkIn) as CheckInRequest;
  const orchestrator = swarm === undefined ? 'compose' : 'swarm';
  return reported === undefined ? [] : [{ id, name: host.name, reported, policy: policyOf(reported), orchestrator }];
}

function exceeding({ id, name, reported }: TellingHost, size: BundleSize): RefusingHost[] {
  const detail = exceededLimit(size, reported);
  return detail === null ? [] : [{ id, name, code: 'BUNDLE_UNSAFE', detail }];
}

const anyTellingHost = { policy: defaultPolicy, orchestrator: 'compose' } as const;

async function judgeByPolicies(
  { runArchiveTask }: Pick<ArchiveDependencies, 'runArchiveTask'>,
  { hosts, bundle }: { hosts: TellingHost[]; bundle: UnpackedBundle },
  signal: AbortSignal,
) {
  const kinds = Map.groupBy(hosts, ({ policy, orchestrator }) => JSON.stringify([policy, orchestrator]));
  const groups = [...kinds.values()].slice(0, MAX_POLICIES);
  // If all hosts are in a swarm, assume that a host without a policy is too.
  const isCompose = hosts.length === 0 || hosts.some(({ orchestrator }) => orchestrator === 'compose');
  const anyHost: HostKind = { policy: defaultPolicy, orchestrator: isCompose ? 'compose' : 'swarm' };
  const kindsOfHosts = groups.map(([{ policy, orchestrator } = anyTellingHost]) => ({ policy, orchestrator }));
  const judged = await runArchiveTask('judge', { bundle, hosts: [anyHost, ...kindsOfHosts] }, signal);
  const [ofAnyHost = [], ...ofHosts] = judged;
  const common = commonRefusals(ofAnyHost, ofHosts);
  const refusing = groups.flatMap((members, at): RefusingHost[] => {
    const { policy } = kindsOfHosts[at] ?? anyHost;
    const warnings = policyWarnings(policy, ofHosts[at] ?? [], { manifest: bundle.manifest, common });
    return members.flatMap(({ id, name }) => warnings.map((warning) => ({ id, name, ...warning })));
  });
  return { refusals: common, refusing };
}
