/** Parts of the option `o` that Podman takes itself. */
const podmanParts = /^(size|inodes|uid|gid)=/i;

/** The options of a volume as they were given: Podman repeats parts of `o` as options of their own, `UID` for `uid=…`. */
export function givenVolumeOptions(options: Readonly<Record<string, string>> | null): Record<string, string> {
  const parts = (options?.['o'] ?? '').split(',').filter((part) => podmanParts.test(part));
  const repeated = new Set(parts.map((part) => part.replace(/^[^=]*/, (name) => name.toUpperCase())));
  const isGiven = ([name, value]: [string, string]) => !repeated.has(`${name}=${value}`);
  return Object.fromEntries(Object.entries(options ?? {}).filter(isGiven));
}
