import type { AnyStateMachine, InspectionEvent } from 'xstate';
import type { Outcome } from '../../../machines/types.ts';

/** Observes running machines: names of states and types of events, never their payload. */
export interface MachineObserver {
  /** A tick has started. */
  tickStarted?: () => void;
  /** A machine took a transition. */
  transitioned?: (transition: Transition) => void;
  /** A machine has ended. */
  machineEnded?: (machine: string) => void;
  /** A tick has ended; the outcome is null after a bug. */
  tickEnded?: (outcome: Outcome | null) => void;
}

/** A transition into `state`; `first` for the initial state of a machine. `actor` is the id of the running machine. */
export interface Transition {
  machine: string;
  actor: string;
  state: string;
  on: string;
  first: boolean;
}

/** Snapshot of a machine; that of a promise has no `machine`. */
interface MachineSnapshot {
  machine: AnyStateMachine;
  value: string;
  status: 'active' | 'done' | 'error' | 'stopped';
  output: Outcome;
}

/** The `inspect` callback of an actor that notifies the observers. */
export function inspectorOf(observers: readonly MachineObserver[]): (event: InspectionEvent) => void {
  return (event) => {
    if (event.type !== '@xstate.microstep' && event.type !== '@xstate.snapshot') return;
    const { machine, value, status, output } = event.snapshot as Partial<MachineSnapshot>;
    if (machine === undefined) return;
    const isTick = machine.id === 'tick';
    const isStep = event.type === '@xstate.microstep';
    const first = !isStep && event.event.type === 'xstate.init';
    const transition = {
      machine: machine.id,
      actor: actorIdOf(event.actorRef),
      state: String(value),
      on: event.event.type,
      first,
    };
    const isOver = !isStep && status !== 'active';
    for (const observer of observers) {
      if (first && isTick) observer.tickStarted?.();
      if (first || isStep) observer.transitioned?.(transition);
      if (isOver) observer.machineEnded?.(machine.id);
      if (isOver && isTick) observer.tickEnded?.(output ?? null);
    }
  };
}

function actorIdOf(actor: InspectionEvent['actorRef']): string {
  return 'id' in actor ? String(actor.id) : '';
}
