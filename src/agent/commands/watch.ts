import type { AnyStateMachine, InspectionEvent } from 'xstate';
import type { Outcome } from '../../../machines/words.ts';

/** What there is to see of machines at work: names of states and types of events, never what they carry. */
export interface Watcher {
  /** A tick begins. */
  begun?: () => void;
  /** A machine took a transition. */
  moved?: (move: Move) => void;
  /** A machine is over. */
  left?: (machine: string) => void;
  /** A tick has ended; null where a bug ended it. */
  ended?: (outcome: Outcome | null) => void;
}

/** A transition into `state`, or the entry into a machine's first one; `actor` is the id under which the machine runs. */
export interface Move {
  machine: string;
  actor: string;
  state: string;
  on: string;
  first: boolean;
}

/** Of a snapshot; that of a promise has no machine. */
interface Seen {
  machine: AnyStateMachine;
  value: string;
  status: 'active' | 'done' | 'error' | 'stopped';
  output: Outcome;
}

/** For an actor's `inspect`: tells the watchers what the machines of this process do. */
export function watched(watchers: readonly Watcher[]): (event: InspectionEvent) => void {
  return (event) => {
    if (event.type !== '@xstate.microstep' && event.type !== '@xstate.snapshot') return;
    const { machine, value, status, output } = event.snapshot as Partial<Seen>;
    if (machine === undefined) return;
    const isTick = machine.id === 'tick';
    const isStep = event.type === '@xstate.microstep';
    const first = !isStep && event.event.type === 'xstate.init';
    const move = {
      machine: machine.id,
      actor: idOf(event.actorRef),
      state: String(value),
      on: event.event.type,
      first,
    };
    const isOver = !isStep && status !== 'active';
    for (const watcher of watchers) {
      if (first && isTick) watcher.begun?.();
      if (first || isStep) watcher.moved?.(move);
      if (isOver) watcher.left?.(machine.id);
      if (isOver && isTick) watcher.ended?.(output ?? null);
    }
  };
}

function idOf(actor: InspectionEvent['actorRef']): string {
  return 'id' in actor ? String(actor.id) : '';
}
