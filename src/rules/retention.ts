import { fullName } from './imageName.ts';

/** What decides which releases and images stay. */
export interface Holdings {
  /** Every release on disk with the images it names, newest first; one without its `.env` is no way back. */
  releases: { sha: string; images: string[]; servable: boolean }[];
  /** The release in force; it always stays. */
  current: string | null;
  /** How many stay, the one in force among them. */
  keep: number;
  /** Releases that some container still mounts. */
  mounted: ReadonlySet<string>;
  /** Images that some container still uses, by reference. */
  used: ReadonlySet<string>;
}

/**
 * Releases that go, and the images that only they named, as they wrote them (spec §12): nothing that a container still
 * uses, whatever way it is written.
 */
export function expendable({ releases, current, keep, mounted, used }: Holdings): { shas: string[]; images: string[] } {
  const rank = ({ sha, servable }: Holdings['releases'][number]) => (sha === current ? 2 : Number(servable));
  const inOrder = releases.toSorted((a, b) => rank(b) - rank(a));
  const stay = inOrder.filter(({ sha }, place) => place < keep || mounted.has(sha));
  const go = inOrder.filter((release) => !stay.includes(release));
  const needed = new Set([...used, ...stay.flatMap(({ images }) => images)].map(fullName));
  const dropped = Map.groupBy(
    go.flatMap(({ images }) => images),
    fullName,
  );
  const images = [...dropped].flatMap(([name, written]) => (needed.has(name) ? [] : written.slice(0, 1)));
  return { shas: go.map(({ sha }) => sha), images };
}
