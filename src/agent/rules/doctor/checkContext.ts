import type { Fact, ProgramUser } from '../../../core/doctor.rules.ts';
import type { State } from '../state/state.ts';

/** Facts for every check. */
export interface CheckContext {
  now: Date;
  agent: ProgramUser;
  /** The state file, null before the first tick. */
  state: Fact<State | null>;
}
