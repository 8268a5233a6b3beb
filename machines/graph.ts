import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';

/**
 * A machine as boxes and arrows, in source order; all pictures and text descriptions of the machine are generated from
 * it.
 */
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

/** The configured actions, without the actions that xstate adds for its timers. */
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

/** Parallel arrows of a graph, drawn as one edge. */
export interface Edge {
  from: string;
  to: string;
  /** Guards and outside events; empty when the end of the service, or no condition, leads here. */
  labels: string[];
  /** True when only failed services lead here. */
  fault: boolean;
  /** True when each guard names its target, so that the edge belongs to the fan-out to the endings. */
  isFanOut: boolean;
}

/** The edges of a graph, in the order of its arrows. */
export function edgesOf({ boxes, arrows }: Graph): Edge[] {
  const services = new Map(boxes.map(({ name, invokes }) => [name, invokes]));
  return [...Map.groupBy(arrows, ({ from, to }) => `${from} ${to}`).values()].map((same) => {
    const [{ from, to }] = same as [Arrow];
    const labels = same.map((arrow) => labelOf(arrow, services.get(from) ?? null));
    return {
      from,
      to,
      labels: labels.includes('') ? [] : [...new Set(labels)],
      fault: same.every(({ fault }) => fault),
      isFanOut: same.every(guardNamesTarget),
    };
  });
}

/** True for a guard that only repeats its target: `endsAs offline` to `offline`. */
export function guardNamesTarget({ guard, to }: Arrow): boolean {
  return guard?.endsWith(` ${to}`) ?? false;
}

/** Colour class of an exit code: 0 is good, 75 is later (try again), others are bad; null without an exit code. */
export function exitClassOf({ exit }: Box): 'good' | 'later' | 'bad' | null {
  if (exit === null) return null;
  if (exit === 0) return 'good';
  return exit === 75 ? 'later' : 'bad';
}

function labelOf(arrow: Arrow, service: string | null): string {
  if (guardNamesTarget(arrow)) return '';
  const isOfService = arrow.on === `${service} done` || arrow.on === `${service} failed`;
  return [isOfService ? '' : arrow.on, arrow.guard].filter(Boolean).join(' ');
}
