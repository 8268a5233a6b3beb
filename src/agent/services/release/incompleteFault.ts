import { Fault } from '../../../../machines/fault.ts';

/** The fault of a release that cannot run again as it did. */
export function incompleteFault(what: string): Fault {
  return new Fault('failed', `failed: ${what}`, { code: 'RELEASE_INCOMPLETE' });
}
