/** Why a step failed, in plain words, with what to do about it. */
export interface FailureCause {
  cause: string;
  cure: string;
  /** What the engine, compose or docker says then; a group `what` is the part that names the culprit. */
  said: readonly RegExp[];
  /** What the log of a container says then. */
  printed?: readonly RegExp[];
}
