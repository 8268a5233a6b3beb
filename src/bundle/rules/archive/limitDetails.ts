/** What a refusal tells when a bundle exceeds a limit of the configuration. */
export const limitDetails = {
  bundle_bytes: (limit: number, sizeBytes: number) => `${sizeBytes} bytes, limits.bundle_bytes allows ${limit}`,
  unpacked_bytes: (limit: number) => `more than ${limit} bytes unpacked (limits.unpacked_bytes)`,
  bundle_entries: (limit: number) => `more than ${limit} files and directories (limits.bundle_entries)`,
} as const;

/** What helps when a bundle exceeds a limit. */
export function limitCure(name: keyof typeof limitDetails): string {
  return `leave out what no service uses, or raise limits.${name} of the host`;
}
