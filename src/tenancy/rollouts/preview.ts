import { randomUUID } from 'node:crypto';
import { findDenyingHosts } from '../bundles/promotion.ts';
import { ApiError, notFound } from '../core/apiError.rules.ts';
import { findBundle, findGroups } from '../store/bundles.ts';
import type { Candidate, RolloutPlan, Wave } from '../store/database.ts';
import { findHostNames } from '../store/backends.ts';
import type { Store } from '../store/openStore.ts';
import { listCandidates } from '../store/rollouts.ts';
import { findWebhook } from '../store/webhooks.ts';
import { completeWaves, drawFault, drawWaves, planFault } from './rollout.rules.ts';
import type { RolloutPreview } from './rolloutSchemas.ts';

/** A plan, and the draw of a preview whose hosts it takes. */
export type DrawnPlan = RolloutPlan & { draw?: string | undefined };

/** Hosts of a wave that a preview names. */
const NAMED_HOSTS = 20;
/** Labels that it lists. */
const MAX_LABELS = 100;

/**
 * The hosts that each wave of a rollout would take if it started now with this draw. Throws 404 for a bundle that is not
 * of the environment, and 422 `ROLLOUT_INVALID`.
 */
export async function previewRollout(
  store: Store,
  {
    env,
    sha256,
    waves,
    draw: id = randomUUID(),
  }: { env: string; sha256: string; waves: Wave[]; draw?: string | undefined },
): Promise<RolloutPreview> {
  const bundle = await findBundle(store, sha256);
  if (bundle === null || bundle.env !== env) throw notFound('bundle');
  requireValid({ waves, max_failures: 0, soak_s: 0, gate: 'none', windows: [] });
  const candidates = await listCandidates(store, { env, rolloutId: id });
  const pairs = candidates.flatMap(({ labels }) => labels.flatMap((own) => Object.entries(own)));
  const labels = [...new Set(pairs.map(([name, value]) => `${name}=${value}`))].toSorted().slice(0, MAX_LABELS);
  const { drawn } = await draw(store, { env, rolloutId: id, started: 0, sha256 }, waves);
  const names = await findHostNames(
    store,
    drawn.flatMap((ids) => ids.slice(0, NAMED_HOSTS)),
  );
  return {
    draw: id,
    labels,
    waves: drawn.map((ids) => {
      const named = ids.slice(0, NAMED_HOSTS).flatMap((each) => names.get(each) ?? []);
      return { hosts: ids.length, named: named.map((each) => ({ ...each, host_name: each.host_name || null })) };
    }),
  };
}

/**
 * Draws the hosts of each wave after the started ones. A last wave takes the hosts that the requested waves leave, if
 * there are any. Hosts that already run the content join the first wave. Hosts whose policy denies to return to it join
 * the last wave, and must be excused. Throws 422 for a wave without hosts.
 */
export async function draw(
  work: Store,
  rollout: { env: string; rolloutId: string; started: number; sha256: string; returnsTo?: number },
  requested: readonly Wave[],
): Promise<{ waves: Wave[]; drawn: string[][]; denying: string[] }> {
  const waves = completeWaves(requested);
  const candidates = await listCandidates(work, rollout);
  const groups = await findGroups(work, [rollout.sha256]);
  const isUpToDate = ({ applied: [sha256 = null, ...more] }: Candidate) =>
    more.length === 0 && sha256 !== null && groups.has(sha256);
  const denying = await findDenyingHosts(work, rollout);
  const isDenying = ({ ids }: Candidate) => ids.some((id) => denying.has(id));
  const drawn = drawWaves(
    candidates.filter((candidate) => !isUpToDate(candidate) && !isDenying(candidate)),
    waves,
  );
  const isSpare = waves.length > Math.max(1, requested.length) && drawn.at(-1)?.length === 0;
  const used = isSpare ? waves.slice(0, -1) : waves;
  const fault = drawFault(drawn, used, rollout.started);
  if (fault !== null) throw invalid(fault);
  const kept = candidates.filter((candidate) => !candidate.hasJoined && isUpToDate(candidate));
  const left = candidates.filter((candidate) => !candidate.hasJoined && isDenying(candidate));
  const members = drawn.slice(0, used.length);
  members[0]?.push(...kept.flatMap(({ ids }) => ids));
  members.at(-1)?.push(...left.flatMap(({ ids }) => ids));
  return { waves: used, drawn: members, denying: [...denying] };
}

/** Checks a plan for content to return to, without starting it; throws 422 `ROLLOUT_INVALID`. */
export async function requirePlan(
  store: Store,
  { plan, ...content }: { env: string; sha256: string; returnsTo: number; plan: RolloutPlan },
): Promise<void> {
  requireValid(plan);
  await requireGate(store, content.env, plan);
  await draw(store, { ...content, rolloutId: randomUUID(), started: 0 }, plan.waves);
}

/** Throws 422 for a plan that is not valid. */
export function requireValid(plan: RolloutPlan): void {
  const fault = planFault(plan);
  if (fault !== null) throw invalid(fault);
}

/**
 * Checks that the webhook of a gate belongs to the environment or to all environments, and has the format `standard`.
 */
export async function requireGate(work: Store, env: string, { gate_webhook: id }: RolloutPlan): Promise<void> {
  if (id === undefined) return;
  const webhook = await findWebhook(work, id);
  if (webhook === null || (webhook.env ?? env) !== env) throw invalid(`the environment has no webhook ${id}`);
  if (webhook.format !== 'standard')
    throw invalid(`the webhook has the format ${webhook.format}: a gate needs standard`);
}

/** The error for a rollout that cannot be. */
export function invalid(message: string): ApiError {
  return new ApiError({ status: 422, code: 'ROLLOUT_INVALID', message });
}
