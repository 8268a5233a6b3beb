import { assign, initialTransition, setup, transition, type SnapshotFrom } from 'xstate';

/** A step of finishing a retirement; each is idempotent and retried until it succeeds. */
export const finishingSteps = ['revokeToken', 'deleteIdentity', 'destroySecrets'] as const;
export type FinishingStep = (typeof finishingSteps)[number];

/** The facts that the tenancy service stores about a backend, in addition to its state. */
export interface BackendFacts {
  /** Rises with each reveal of the install kit; only grants and tokens of the newest generation are accepted. */
  generation: number;
  /** The retirement also removes volumes, except on a production host. */
  purgeVolumes: boolean;
  /** Finishing steps that have succeeded. */
  finished: FinishingStep[];
}

/** An event in the life of a backend. `force`, `purge_volumes`: docs/operating.md, Retire a host. */
export type BackendEvent =
  | { type: 'REVEAL_KIT' }
  | { type: 'CHECK_IN' }
  | { type: 'MISS_CHECK_INS' }
  | { type: 'RETIRE'; force: boolean; purgeVolumes: boolean }
  | { type: 'REPORT_DOWN' }
  | { type: 'SKIP_DOWN' }
  | { type: 'EXPIRE_RETIREMENT' }
  | { type: 'FINISH_STEP'; step: FinishingStep };

/**
 * The life of a backend as the tenancy service sees it. The machine never runs: the service keeps state and facts in a
 * row, asks `nextBackend` at each event, and stores the result in the transaction that the event belongs to.
 */
export const backend = setup({
  types: { context: {} as BackendFacts, events: {} as BackendEvent },
  actions: {
    supersedeGrants: assign({ generation: ({ context }) => context.generation + 1 }),
    keepRetirement: assign({
      purgeVolumes: ({ context, event }) => (event.type === 'RETIRE' ? event.purgeVolumes : context.purgeVolumes),
    }),
    keepStep: assign({ finished: ({ context, event }) => withStep(context.finished, event) }),
  },
  guards: {
    isForced: ({ event }) => event.type === 'RETIRE' && event.force,
    isLastStep: ({ context, event }) => withStep(context.finished, event).length === finishingSteps.length,
  },
}).createMachine({
  id: 'backend',
  context: { generation: 0, purgeVolumes: false, finished: [] },
  initial: 'created',
  states: {
    created: {
      description: 'Has a name and an environment; nobody has revealed its install kit.',
      on: {
        REVEAL_KIT: { target: 'invited', actions: 'supersedeGrants' },
        RETIRE: { target: 'finishing', actions: 'keepRetirement' },
      },
    },
    invited: {
      description: 'Its install kit was revealed; no host has checked in.',
      on: {
        REVEAL_KIT: { actions: 'supersedeGrants' },
        CHECK_IN: 'active',
        RETIRE: { target: 'finishing', actions: 'keepRetirement' },
      },
    },
    active: {
      description: 'Its host checks in.',
      on: {
        REVEAL_KIT: { actions: 'supersedeGrants' },
        CHECK_IN: 'active',
        MISS_CHECK_INS: 'offline',
        RETIRE: { target: 'retiring', actions: 'keepRetirement' },
      },
    },
    offline: {
      description: 'Its host has been silent for 5 minutes, a laptop for 24 hours; its desired bundle waits.',
      on: {
        REVEAL_KIT: { actions: 'supersedeGrants' },
        CHECK_IN: 'active',
        RETIRE: { guard: 'isForced', target: 'retiring', actions: 'keepRetirement' },
      },
    },
    retiring: {
      description: 'The next check-in of its host is answered with `down`, unless other managers of its swarm run on.',
      on: {
        CHECK_IN: 'retiring',
        REPORT_DOWN: 'finishing',
        SKIP_DOWN: 'finishing',
        EXPIRE_RETIREMENT: 'finishing',
        RETIRE: [{ guard: 'isForced', target: 'finishing', actions: 'keepRetirement' }, { actions: 'keepRetirement' }],
      },
    },
    finishing: {
      description:
        'Revokes its token, deletes its mesh identity, destroys the secrets of an environment without other backends; without a choice, these wait for 7 days.',
      on: {
        FINISH_STEP: [{ guard: 'isLastStep', target: 'retired', actions: 'keepStep' }, { actions: 'keepStep' }],
        RETIRE: 'finishing',
      },
    },
    retired: { type: 'final', description: 'Nothing of it is left but its reports and the audit log.' },
  },
});

export type BackendState = SnapshotFrom<typeof backend>['value'];

/** States of backends whose hosts should run the desired bundle. */
export const hostStates: readonly BackendState[] = ['active', 'offline'];

/** States of backends that nobody retires. */
export const remainingStates: readonly BackendState[] = ['created', 'invited', ...hostStates];

/** A backend's row, as far as its life is concerned. */
export interface BackendRecord extends BackendFacts {
  state: BackendState;
}

/** A backend that was just created. */
export const newBackend: BackendRecord = recordOf(initialTransition(backend)[0]);

/** The record after an event; null if the event is not allowed in its state. */
export function nextBackend(record: BackendRecord, event: BackendEvent): BackendRecord | null {
  const key = JSON.stringify([record, event]);
  const cached = transitions.get(key);
  if (cached !== undefined) return cached;
  const next = computeNext(record, event);
  if (transitions.size >= MAX_TRANSITIONS) transitions.clear();
  transitions.set(key, next);
  return next;
}

/** Cache of computed transitions: nearly all check-ins of a fleet cause the same one. */
const transitions = new Map<string, BackendRecord | null>();
const MAX_TRANSITIONS = 1000;

function computeNext({ state, ...context }: BackendRecord, event: BackendEvent): BackendRecord | null {
  const snapshot = backend.resolveState({ value: state, context });
  if (!snapshot.can(event)) return null;
  return recordOf(transition(backend, snapshot, event)[0]);
}

function recordOf({ value, context }: SnapshotFrom<typeof backend>): BackendRecord {
  return { state: value, ...context };
}

function withStep(finished: FinishingStep[], event: BackendEvent): FinishingStep[] {
  if (event.type !== 'FINISH_STEP' || finished.includes(event.step)) return finished;
  return [...finished, event.step];
}
