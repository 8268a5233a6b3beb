/** Facts that decide whether `down` may remove data volumes. */
export interface PurgeFacts {
  /** Null when it is not known on this host. */
  production: boolean | null;
  /** The tenancy service sent `purge_volumes: true`. */
  purgeRequested: boolean;
  /** Config `volumes_on_absent`. */
  onAbsent: 'keep' | 'purge';
  /** Config `policy.deny` has `purge`. */
  denied: boolean;
}

/** The volume rule (spec §7): `-v` only when a purge is requested, and only on an env known to be no production env,
 * on a host that does not deny it. */
export function mayRemoveVolumes(facts: PurgeFacts): boolean {
  return facts.production === false && !facts.denied && isPurgeRequested(facts);
}

/**
 * The journal line of a requested purge that is not done, null when there is none. `volumes` are the project's volumes; without
 * any, an env whose production status is unknown has nothing to lose.
 */
export function formatIgnoredPurge(facts: PurgeFacts, volumes: readonly string[]): string | null {
  if (!isPurgeRequested(facts) || mayRemoveVolumes(facts)) return null;
  if (facts.denied) return 'purge of volumes ignored: policy.deny of this host names purge; volumes stay';
  if (facts.production === true) return 'purge of volumes ignored: this is a production env; volumes stay';
  if (volumes.length === 0) return null;
  const why = 'nothing on this host tells whether it is a production env';
  return `purge of volumes ignored: ${why}; staying, to be removed by hand if it is none: ${volumes.join(', ')}`;
}

/**
 * Production status of an env, from its releases: true when one says so, false when all say no, null when one is unknown or
 * there is none (spec §7.1).
 */
export function productionOf(statuses: readonly (boolean | null)[]): boolean | null {
  if (statuses.includes(true)) return true;
  return statuses.length === 0 || statuses.includes(null) ? null : false;
}

function isPurgeRequested({ purgeRequested, onAbsent }: PurgeFacts): boolean {
  return purgeRequested || onAbsent === 'purge';
}
