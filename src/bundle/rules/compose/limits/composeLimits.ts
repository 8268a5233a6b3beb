/**
 * Limits on what a bundle may ask of compose (docs/bundle.md lists them): more than applications need, and small enough
 * for every compose from 2.20 on to finish within seconds.
 */
export const composeLimits = {
  /** Containers of one service. */
  containersPerService: 100,
  /** Containers of the bundle; each service counts as at least one. */
  containers: 500,
  /** Published, and likewise exposed, ports of the bundle, ranges expanded. */
  ports: 2_000,
  /** Dependencies between services. */
  dependencies: 2_000,
  /** Paths through the dependencies; compose follows every path from every service. */
  dependencyPaths: 1_000_000,
  /** Dependencies in a chain. */
  dependencyDepth: 50,
  /** Keys of one mapping; compose compares every pair. */
  keysPerMapping: 5_000,
  /** Characters of a command that compose splits into words, in quadratic time. */
  commandCharacters: 16_384,
  /** Characters of one text; the kernel accepts no longer argument or environment variable. */
  textCharacters: 131_072,
  /** Lines of one env file; compose 2.20 keeps a copy of the rest of the file for each line. */
  envLines: 1_000,
  /** Characters of env files and label files, counted once for every service that reads the file. */
  envCharacters: 524_288,
} as const;
