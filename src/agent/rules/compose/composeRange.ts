/** A version of compose, without its patch. */
export type ComposeVersion = readonly [major: number, minor: number];

/** The versions of compose that work with an engine. */
export interface ComposeRange {
  from: ComposeVersion;
  /** The first that does not; null for an engine with which every newer one works. */
  before: ComposeVersion | null;
  /** What is needed, for a message. */
  requirement: string;
}

const oldest: ComposeVersion = [2, 20];
/** The first that compares the ids of the networks of a container with those that it wants. */
const comparesNetworks: ComposeVersion = [2, 31];
/** The first that tells the id of a network, not its name: before, compose would create each container again with each `up`. */
const podmanWithIds: ComposeVersion = [5, 4];

/** For the version of Podman; null for another engine. */
export function composeRangeOf(podmanVersion: string | null): ComposeRange {
  const [major = 0, minor = 0] = (podmanVersion ?? '').split('.').map(Number);
  if (podmanVersion === null || !isBefore([major, minor], podmanWithIds))
    return { from: oldest, before: null, requirement: `compose ${oldest.join('.')} or newer is needed` };
  const requirement = `compose ${oldest.join('.')} to 2.30 is needed with Podman ${podmanVersion}, or Podman ${podmanWithIds.join('.')} or newer`;
  return { from: oldest, before: comparesNetworks, requirement };
}

/** Whether that version of compose is one of the range. */
export function isInRange(version: ComposeVersion, { from, before }: ComposeRange): boolean {
  return !isBefore(version, from) && (before === null || isBefore(version, before));
}

function isBefore([major, minor]: ComposeVersion, other: ComposeVersion): boolean {
  return major < other[0] || (major === other[0] && minor < other[1]);
}
