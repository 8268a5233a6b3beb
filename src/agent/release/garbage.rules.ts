import { isImageId, normalizeImageReference } from '../../registry/imageReference.rules.ts';

/** Facts that decide which releases and images are kept. */
interface RetentionInput {
  /**
   * Every release on disk, newest first, with its images by reference, and by id where it ran them; `restorable`: it has its `.env`,
   * so it can be started again.
   */
  releases: { sha: string; images: string[]; ids?: string[]; restorable: boolean }[];
  /** The current release, which is always kept. */
  current: string | null;
  /** A release that is being applied, kept in addition to the others. */
  desired?: string | null;
  /** How many releases are kept, the current one included. */
  keep: number;
  /** Releases that a container mounts at least partly. */
  mountedShas: ReadonlySet<string>;
  /** Images that a container uses: by reference, and images of other projects also by id. */
  usedImages: ReadonlySet<string>;
  /** Ids of the images of all containers. */
  usedImageIds: ReadonlySet<string>;
  /** The engine's images: id and every reference of each. */
  engineImages: readonly { id: string; references: readonly string[] }[];
}

/** The releases to remove, those kept only because they are mounted, and the images to remove. */
interface RemovalSelection {
  shas: string[];
  keptByMount: string[];
  images: string[];
}

/**
 * Selects the releases to remove, and their images that no kept release references and no container uses, by id or by any
 * spelling of the reference (spec §12). A mount keeps a release's files, not its images.
 */
export function selectForRemoval({
  releases,
  current,
  desired = null,
  keep,
  mountedShas,
  usedImages,
  usedImageIds,
  engineImages,
}: RetentionInput): RemovalSelection {
  const rank = ({ sha, restorable }: RetentionInput['releases'][number]) => (sha === current ? 2 : Number(restorable));
  const isDesired = ({ sha }: RetentionInput['releases'][number]) => sha === desired && sha !== current;
  const inOrder = releases.filter((each) => !isDesired(each)).toSorted((a, b) => rank(b) - rank(a));
  const [kept, surplus] = [[...inOrder.slice(0, keep), ...releases.filter(isDesired)], inOrder.slice(keep)];
  const [keptByMount, removed] = [
    surplus.filter(({ sha }) => mountedShas.has(sha)),
    surplus.filter(({ sha }) => !mountedShas.has(sha)),
  ];
  const needed = new Set([...usedImages, ...kept.flatMap(({ images }) => images)].map(imageKeyOf));
  const idOf = new Map(
    engineImages.flatMap(({ id, references }) => [id, ...references].map((name) => [imageKeyOf(name), id] as const)),
  );
  const keptIds = new Set(kept.flatMap(({ ids = [] }) => ids));
  const neededIds = new Set([...usedImageIds, ...keptIds, ...[...needed].map((name) => idOf.get(name))]);
  const candidates = Map.groupBy(
    surplus.flatMap(({ images }) => images),
    imageKeyOf,
  );
  // The engine removes an image with its last tag, also one that a kept release ran under a tag that names another image now.
  const lastTags = new Set(
    engineImages.flatMap(({ id, references }) => {
      const tags = references.filter((name) => !name.includes('@')).map(imageKeyOf);
      return keptIds.has(id) && tags.every((tag) => candidates.has(tag)) ? tags : [];
    }),
  );
  const isNeeded = (name: string, id: string) =>
    needed.has(name) || lastTags.has(name) || usedImages.has(id) || (isImageId(name) && neededIds.has(name));
  const images = [...candidates].flatMap(([name, spellings]) => {
    const id = idOf.get(name);
    return id !== undefined && !isNeeded(name, id) ? spellings.slice(0, 1) : [];
  });
  // an image that a removed release ran under a moved tag; if it has another tag, somebody else may use it
  const ran = new Set(surplus.flatMap(({ ids = [] }) => ids));
  const untagged = engineImages
    .filter(({ id, references }) => ran.has(id) && references.every((name) => name.includes('@')))
    .flatMap(({ id }) => (isNeeded(id, id) || neededIds.has(id) || images.includes(id) ? [] : id));
  return { shas: removed.map(shaOf), keptByMount: keptByMount.map(shaOf), images: [...images, ...untagged] };
}

/** Ids of the dangling images without those that others need, by id or by any spelling of the reference. */
export function unneededImages(dangling: RetentionInput['engineImages'], neededByOthers: readonly string[]): string[] {
  const needed = new Set(neededByOthers.map(imageKeyOf));
  const isNeeded = (name: string) => needed.has(imageKeyOf(name));
  return dangling.filter(({ id, references }) => ![id, ...references].some(isNeeded)).map(({ id }) => id);
}

/** Records contain the id of an image when its reference would reveal a secret. */
function imageKeyOf(image: string): string {
  return isImageId(image) ? image : normalizeImageReference(image);
}

function shaOf({ sha }: { sha: string }): string {
  return sha;
}
