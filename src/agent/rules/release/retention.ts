import { fullName, isImageId } from '../bundle/imageName.ts';

/** What decides which releases and images stay. */
export interface Holdings {
  /** Every release on disk with the images it names, newest first; one without its `.env` is no way back. */
  releases: { sha: string; images: string[]; servable: boolean }[];
  /** The release in force; it always stays. */
  current: string | null;
  /** How many stay, the one in force among them. */
  keep: number;
  /** Releases of which some container of the engine mounts something. */
  mounted: ReadonlySet<string>;
  /** Images that some container of the engine uses: by reference, those of other projects by id too. */
  used: ReadonlySet<string>;
  /** Ids of the images of all containers. */
  usedIds: ReadonlySet<string>;
  /** The engine's images: id and every reference of each. */
  present: readonly { id: string; references: readonly string[] }[];
}

/** Releases that go, those that only a mount keeps, and the images that go. */
export interface Expendable {
  shas: string[];
  held: string[];
  images: string[];
}

/**
 * Releases that go, and the images that neither a kept release names nor a container uses, by name or by id, whatever way
 * it is written (spec §12). A mount keeps a release's files; its images only a use keeps.
 */
export function expendable({ releases, current, keep, mounted, used, usedIds, present }: Holdings): Expendable {
  const rank = ({ sha, servable }: Holdings['releases'][number]) => (sha === current ? 2 : Number(servable));
  const inOrder = releases.toSorted((a, b) => rank(b) - rank(a));
  const [stay, beyond] = [inOrder.slice(0, keep), inOrder.slice(keep)];
  const [held, go] = [beyond.filter(({ sha }) => mounted.has(sha)), beyond.filter(({ sha }) => !mounted.has(sha))];
  const needed = new Set([...used, ...stay.flatMap(({ images }) => images)].map(keyOf));
  const idOf = new Map(
    present.flatMap(({ id, references }) => [id, ...references].map((name) => [keyOf(name), id] as const)),
  );
  const neededIds = new Set([...usedIds, ...[...needed].map((name) => idOf.get(name))]);
  const isNeeded = (name: string) =>
    needed.has(name) || used.has(idOf.get(name) ?? '') || (isImageId(name) && neededIds.has(name));
  const dropped = Map.groupBy(
    beyond.flatMap(({ images }) => images),
    keyOf,
  );
  const images = [...dropped].flatMap(([name, written]) =>
    idOf.has(name) && !isNeeded(name) ? written.slice(0, 1) : [],
  );
  return { shas: go.map(shaOf), held: held.map(shaOf), images };
}

/** Whether a mount of `source` shows something of the directory: it, what is in it, or what it is in. */
export function shows(source: string, directory: string): boolean {
  return liesIn(source, directory) || liesIn(directory, source);
}

/** Whether a path is the directory, or lies below it. */
export function liesIn(path: string, directory: string): boolean {
  return closed(path).startsWith(closed(directory));
}

function closed(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}

/** A release knows an image by its id where the name would tell a secret. */
function keyOf(image: string): string {
  return isImageId(image) ? image : fullName(image);
}

function shaOf({ sha }: { sha: string }): string {
  return sha;
}
