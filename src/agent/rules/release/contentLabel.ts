/** Label of a container: a digest of what its service mounts and reads, by a key of this host (spec §12). */
export const contentLabel = 'deployd.content';

/** The content labels of an override, by service. */
export function contentLabelsOf(override: string | null): ReadonlyMap<string, string> {
  const parsed = JSON.parse(override ?? '{}') as {
    services?: Record<string, { labels?: Record<string, string> }>;
  };
  return new Map(
    Object.entries(parsed.services ?? {}).flatMap(([service, { labels }]): [string, string][] => {
      const label = labels?.[contentLabel];
      return label === undefined ? [] : [[service, label]];
    }),
  );
}
