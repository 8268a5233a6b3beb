/** What decides whether `down` may remove data volumes. */
export interface VolumeFacts {
  production: boolean;
  /** The tenancy service sent `purge_volumes: true`. */
  purgeRequested: boolean;
  /** Config `volumes_on_absent`. */
  onAbsent: 'keep' | 'purge';
}

/** The volume rule (spec §7): `-v` only when asked for, and never on a production env. */
export function mayRemoveVolumes({ production, purgeRequested, onAbsent }: VolumeFacts): boolean {
  return !production && (purgeRequested || onAbsent === 'purge');
}

/** The journal line of a purge that was asked for on a production env, null where none was ignored. */
export function ignoredPurge({ production, purgeRequested, onAbsent }: VolumeFacts): string | null {
  if (!production || (!purgeRequested && onAbsent === 'keep')) return null;
  return 'purge of volumes ignored: this is a production env; volumes stay';
}
