/** What decides whether `down` may remove data volumes. */
export interface VolumeFacts {
  /** Null where nothing on this host tells it any more, or yet. */
  production: boolean | null;
  /** The tenancy service sent `purge_volumes: true`. */
  purgeRequested: boolean;
  /** Config `volumes_on_absent`. */
  onAbsent: 'keep' | 'purge';
}

/** The volume rule (spec §7): `-v` only when asked for, and only on an env that is known to be no production env. */
export function mayRemoveVolumes(facts: VolumeFacts): boolean {
  return facts.production === false && isAskedFor(facts);
}

/**
 * The journal line of a purge that was asked for and not done, null where none was ignored; `volumes` are those of the
 * project, without which an env of which nothing is known has nothing to lose.
 */
export function ignoredPurge(facts: VolumeFacts, volumes: readonly string[]): string | null {
  if (!isAskedFor(facts) || facts.production === false) return null;
  if (facts.production === true) return 'purge of volumes ignored: this is a production env; volumes stay';
  if (volumes.length === 0) return null;
  const why = 'nothing on this host tells whether it is a production env';
  return `purge of volumes ignored: ${why}; staying, to be removed by hand if it is none: ${volumes.join(', ')}`;
}

/**
 * Whether an env is production by what each of its releases tells: yes where one does, no where all of them deny it; null
 * where one tells nothing, or there is none (spec §7.1).
 */
export function productionOf(told: readonly (boolean | null)[]): boolean | null {
  if (told.includes(true)) return true;
  return told.length === 0 || told.includes(null) ? null : false;
}

function isAskedFor({ purgeRequested, onAbsent }: VolumeFacts): boolean {
  return purgeRequested || onAbsent === 'purge';
}
