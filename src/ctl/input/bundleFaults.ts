import { Fault } from '../../../machines/fault.ts';
import type { Refusal } from '../../../machines/refusals.ts';
import { CtlError, exits } from '../ctlError.ts';

/** Runs `work` on the files of a bundle; its Faults are thrown as CtlErrors. */
export async function withBundleFaults<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const code = error.code ?? 'FILE_UNREADABLE';
    const message = error.message.replace(/^(refused: \w+|failed): /, '');
    throw new CtlError({ exit: exits.failed, code: code === 'DISK_WRITE_FAILED' ? 'FILE_UNWRITABLE' : code, message });
  }
}

/** The error of a bundle that hosts would refuse. */
export function refusedBundle(refusals: readonly Refusal[]): CtlError {
  const { code = 'MANIFEST_INVALID', detail = '' } = refusals[0] ?? {};
  return new CtlError({ exit: exits.failed, code, message: detail, refusals });
}
