/**
 * What a bundle may ask of compose at most: more than people need, and little enough that every compose from 2.20 on is
 * done with it within seconds (docs/bundle.md tells each).
 */
export const limits = {
  /** Containers of one service. */
  scale: 100,
  /** Containers of the bundle; a service counts as one at least. */
  containers: 500,
  /** Published, and likewise exposed, ports of the bundle, ranges expanded. */
  ports: 2_000,
  /** Dependencies of services on services: an edge each. */
  dependencies: 2_000,
  /** Compose follows every way through the dependencies, from every service. */
  ways: 1_000_000,
  /** Dependencies one behind the other. */
  chain: 50,
  /** Keys of one mapping: compose compares each with each. */
  keys: 5_000,
  /** Characters of a command that compose splits into words, in quadratic time. */
  command: 16_384,
  /** Characters of one text; the kernel takes no longer argument or variable. */
  text: 131_072,
  /** Lines of one env file: compose 2.20 keeps what follows each. */
  envLines: 1_000,
  /** Characters of env files and label files, counted for every service that reads them. */
  envCharacters: 524_288,
} as const;
