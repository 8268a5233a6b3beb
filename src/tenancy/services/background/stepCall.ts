import type { Store } from '../../store/openStore.ts';

/** What a pending step works with, beside the dependencies. */
export interface StepCall {
  subject: string;
  /** Removes the step and keeps what follows from its success, in one transaction; false if another instance was faster. */
  finish: (record?: (work: Store) => Promise<void>) => Promise<boolean>;
  /** Ends before the claim of the step, and with the service. */
  signal: AbortSignal;
}
