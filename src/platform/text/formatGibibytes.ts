/** `7.5 GiB`. Round needs up and free space down, so that a refusal never shows enough space. */
export function formatGibibytes(bytes: number, round: (value: number) => number): string {
  return `${(round((bytes / 2 ** 30) * 10) / 10).toFixed(1)} GiB`;
}
