import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';

/** A machine as boxes and arrows, in the order in which it is written; every picture of it is printed from this. */
export interface Graph {
  id: string;
  initial: string;
  boxes: Box[];
  arrows: Arrow[];
  /** What it hears wherever it is, without leaving its state. */
  anywhere: { on: string; actions: string[] }[];
}

/** One state. */
export interface Box {
  name: string;
  /** In a working state a service runs, a passing one is left at once, an ending is final. */
  kind: 'working' | 'waiting' | 'passing' | 'ending';
  description: string | null;
  /** The service or the machine that runs in it. */
  invokes: string | null;
  entry: string[];
  exit: number | null;
  report: string | null;
}

/** One transition. */
export interface Arrow {
  from: string;
  to: string;
  /** `checkIn done`, `checkIn failed`, `after interval`, `STOP`; empty where nothing is waited for. */
  on: string;
  /** The guard and what it is asked, `endsAs offline`; null where there is none. */
  guard: string | null;
  actions: string[];
  description: string | null;
  /** True when a service that gave up leads here. */
  fault: boolean;
}

/** Walks a machine. */
export function graphOf({ root }: AnyStateMachine): Graph {
  const states = Object.values(root.states) as AnyStateNode[];
  return {
    id: root.id,
    initial: root.initial.target[0]!.key,
    boxes: states.map(boxOf),
    arrows: states.flatMap((state) => transitionsOf(state).map(arrowOf)),
    anywhere: transitionsOf(root).map((transition) => ({ on: eventOf(transition), actions: actionsOf(transition) })),
  };
}

function boxOf(state: AnyStateNode): Box {
  const { exit = null, report = null } = (state.meta ?? {}) as Partial<Box>;
  return {
    name: state.key,
    kind: kindOf(state),
    description: state.description ?? null,
    invokes: state.invoke[0]?.id ?? null,
    entry: writtenIn(state.config.entry).map(nameOf),
    exit,
    report,
  };
}

function kindOf(state: AnyStateNode): Box['kind'] {
  if (state.type === 'final') return 'ending';
  if (state.invoke.length > 0) return 'working';
  return state.always ? 'passing' : 'waiting';
}

function transitionsOf(state: AnyStateNode): AnyTransitionDefinition[] {
  return [...[...state.transitions.values()].flat(), ...(state.always ?? [])];
}

function arrowOf(transition: AnyTransitionDefinition): Arrow {
  return {
    from: transition.source.key,
    to: (transition.target?.[0] ?? transition.source).key,
    on: eventOf(transition),
    guard: transition.guard ? nameOf(transition.guard) : null,
    actions: actionsOf(transition),
    description: transition.description ?? null,
    fault: typeOf(transition).startsWith('xstate.error.'),
  };
}

function eventOf(transition: AnyTransitionDefinition): string {
  const [, kind, ...rest] = typeOf(transition).split('.');
  if (kind === 'after') return `after ${rest[0]}`;
  if (kind === 'done') return `${rest[1]} done`;
  return kind === 'error' ? `${rest[1]} failed` : typeOf(transition);
}

function typeOf({ eventType }: AnyTransitionDefinition): string {
  return String(eventType);
}

function actionsOf({ actions }: AnyTransitionDefinition): string[] {
  return actions.map(nameOf);
}

/** The actions as they are written, without those that the library adds for its timers. */
function writtenIn(actions: unknown): unknown[] {
  return [actions ?? []].flat();
}

/** A guard or an action by its name, and the word it is given where it is given one. */
function nameOf(called: unknown): string {
  const { type, params } = (typeof called === 'object' ? called : { type: called }) as {
    type: string;
    params?: unknown;
  };
  return typeof params === 'string' ? `${type} ${params}` : type;
}
