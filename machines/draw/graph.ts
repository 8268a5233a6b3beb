import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';

/** A machine as boxes and arrows, in source order; every picture and text of it is made from this. */
export interface Graph {
  id: string;
  initial: string;
  boxes: Box[];
  arrows: Arrow[];
  /** Events that are handled in every state without a transition. */
  anywhere: { on: string; actions: string[] }[];
}

/** One state. */
export interface Box {
  name: string;
  /** A working state runs a service, a passing one is left immediately, an ending is final. */
  kind: 'working' | 'waiting' | 'passing' | 'ending';
  description: string | null;
  /** Id of the service or machine that runs in it. */
  invokes: string | null;
  entry: string[];
  exit: number | null;
  report: string | null;
}

/** One transition. */
export interface Arrow {
  from: string;
  to: string;
  /** `checkIn done`, `checkIn failed`, `after interval`, `STOP`; empty for an immediate transition. */
  on: string;
  /** The guard with its parameter, `endsAs offline`; null without a guard. */
  guard: string | null;
  actions: string[];
  description: string | null;
  /** True when the failure of a service leads here. */
  fault: boolean;
}

/** Converts a machine to a graph. */
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
    entry: configuredActions(state.config.entry).map(nameOf),
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

/** The configured actions, without those that xstate adds for its timers. */
function configuredActions(actions: unknown): unknown[] {
  return [actions ?? []].flat();
}

/** Name of a guard or action, with its parameter when that is a string. */
function nameOf(reference: unknown): string {
  const { type, params } = (typeof reference === 'object' ? reference : { type: reference }) as {
    type: string;
    params?: unknown;
  };
  return typeof params === 'string' ? `${type} ${params}` : type;
}
