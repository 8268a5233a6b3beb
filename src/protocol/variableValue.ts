import { printable } from './printable.ts';

/** Longest `NAME=value`, in bytes, that the kernel passes to a process: MAX_ARG_STRLEN less the terminating NUL. */
const maxAssignmentBytes = 131_071;

/** Why a value cannot be the environment variable `name`, without the value itself; null when it can (spec §9). */
export function unusableReason(name: string, value: unknown): string | null {
  if (typeof value !== 'string') return 'is not a string';
  if (value.includes('\0')) return 'holds a NUL character';
  if (!value.isWellFormed()) return 'is not valid Unicode (lone surrogate)';
  const bytes = Buffer.byteLength(`${name}=${value}`);
  const isTooLong = bytes > maxAssignmentBytes;
  return isTooLong ? `is too long: ${printable(name)}=value takes ${bytes} of ${maxAssignmentBytes} bytes` : null;
}
