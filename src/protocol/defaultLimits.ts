/** Limits of a bundle where nothing else is configured: bytes of the archive, bytes of its files, files and directories. */
export const defaultLimits = { bundle_bytes: 2 ** 28, unpacked_bytes: 2 ** 30, bundle_entries: 10_000 } as const;
