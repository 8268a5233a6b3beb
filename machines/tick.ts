import { endingNames, endings } from './endings.ts';
import { classifyFault, engineAnswered, tickResult, tickSetup } from './tickSetup.ts';

const grantExchanged =
  'token ABSENT | `deployd bootstrap` or next tick | bootstrap grant file present and accepted by the secretstore login';

/** Rows of the transition table that a fault's ending selects. */
const failureRows = [
  ['unauthenticated', 'any | check-in | tenancy service refuses the bearer'],
  ['envMismatch', 'any | check-in | token belongs to another environment than `config.yaml`'],
  ['offline', 'any | tick | tenancy service or mesh unreachable, `laptop_mode` false'],
  ['offlineLaptop', 'any | tick | same, `laptop_mode` true'],
  ['refused', 'any | check-in returns `apply` | a refusal check fails'],
] as const;

/** One tick (spec §1). Every path that holds the lock ends in recordingOutcome … releasingLock, selectingEnding. */
export const tick = tickSetup.createMachine({
  id: 'tick',
  context: ({ input }) => ({
    ...{ options: input, found: null, grantRefusal: null, observed: null, desired: null, outcome: null },
    recorded: null,
  }),
  output: ({ context }) => tickResult(context),
  initial: 'acquiringLock',
  on: { STOP: { actions: 'abortWork' } },
  states: {
    acquiringLock: {
      description: 'Takes the exclusive lock of the state directory.',
      invoke: {
        id: 'acquireLock',
        src: 'acquireLock',
        onDone: 'loadingState',
        onError: {
          target: 'selectingEnding',
          actions: [{ type: 'setFault', params: ({ event }) => event }, 'logOutcome'],
        },
      },
    },
    loadingState: {
      description: 'Reads state.json, removes leftovers of a killed tick and finds out which credentials exist.',
      invoke: {
        id: 'loadState',
        src: 'loadState',
        onDone: [
          {
            guard: 'wantsBootstrapOnly',
            target: 'selectingCredential',
            actions: { type: 'setFound', params: ({ event }) => event },
          },
          { target: 'observingHost', actions: { type: 'setFound', params: ({ event }) => event } },
        ],
        onError: classifyFault,
      },
    },
    observingHost: {
      description: 'Asks the container engine which containers run and whether they are healthy.',
      invoke: {
        id: 'observeHost',
        src: 'observeHost',
        onDone: { target: 'selectingCredential', actions: { type: 'setObserved', params: ({ event }) => event } },
        onError: classifyFault,
      },
    },
    selectingCredential: {
      description: 'Selects the grant file if it exists, else the stored token.',
      always: [
        { guard: 'wantsBootstrapOnly', target: 'bootstrapping' },
        { guard: 'hasGrant', target: 'bootstrapping' },
        { guard: 'hasToken', target: 'checkingIn' },
        { target: 'classifyingFault', actions: 'endAsTokenAbsent', description: 'token ABSENT | tick | no grant file' },
      ],
    },
    bootstrapping: {
      description: 'Exchanges the bootstrap grant for the token, stores it, tests it, then removes the grant.',
      invoke: {
        id: 'bootstrap',
        src: 'bootstrap',
        input: ({ context }) => ({ intent: context.options.intent }),
        onDone: [
          {
            guard: 'wantsBootstrapOnly',
            target: 'recordingOutcome',
            actions: 'endAsBootstrapped',
            description: grantExchanged,
          },
          {
            guard: { type: 'wasExchanged', params: ({ event }) => event },
            target: 'checkingIn',
            description: grantExchanged,
          },
          {
            target: 'checkingIn',
            actions: { type: 'setGrantRefusal', params: ({ event }) => event },
            description: 'token present | tick | grant refused, the stored token works',
          },
        ],
        onError: classifyFault,
      },
    },
    checkingIn: {
      description: 'Sends the applied release and its health to the tenancy service and receives the desired state.',
      invoke: {
        id: 'checkIn',
        src: 'checkIn',
        input: ({ context: { found, grantRefusal, observed } }) => ({
          ...{ hold: found?.hold, grantRefusal },
          observed: observed!,
        }),
        onDone: { target: 'deliveringReports', actions: { type: 'setDesired', params: ({ event }) => event } },
        onError: classifyFault,
      },
    },
    deliveringReports: {
      description: 'Delivers queued reports of earlier ticks, oldest first.',
      invoke: {
        id: 'deliverReports',
        src: 'deliverReports',
        input: { heartbeat: null },
        onDone: 'deciding',
        onError: 'deciding',
      },
    },
    deciding: {
      description: 'Compares desired and observed state and selects the work of this tick.',
      always: [
        {
          guard: 'isConverged',
          target: 'recordingOutcome',
          actions: { type: 'endAs', params: 'converged' },
          description: 'converged | check-in returns `none` | host healthy',
        },
        { guard: 'needsHealing', target: 'healing', description: 'any | check-in returns `none` | host not healthy' },
        {
          guard: 'isDeferred',
          target: 'recordingOutcome',
          actions: 'endAsDeferred',
          description: 'a hold, the windows of this host, or the leader of its swarm, defer what is desired',
        },
        {
          guard: 'retryNotDue',
          target: 'recordingOutcome',
          actions: 'endAsPaused',
          description: 'the bundle failed; not due yet',
        },
        { guard: 'wantsApply', target: 'applying', description: 'check-in returns `apply`' },
        { guard: 'wantsDown', target: 'takingDown', description: 'any | check-in returns `down` | -' },
      ],
    },
    healing: {
      description: 'Starts the applied release again, once per tick.',
      invoke: {
        id: 'heal',
        src: 'heal',
        input: ({ context: { found, observed, desired } }) => ({
          hold: found?.hold,
          ...{ observed: observed!, desired: desired! },
        }),
        onDone: { target: 'recordingOutcome', actions: { type: 'setOutcome', params: ({ event }) => event } },
        onError: classifyFault,
      },
    },
    applying: {
      description: 'Applies the desired bundle (machine `apply`).',
      invoke: {
        id: 'apply',
        src: 'apply',
        input: ({ context }) => ({
          ...{ desired: context.desired!, hold: context.found?.hold },
          engineAnswered: engineAnswered(context),
        }),
        onDone: { target: 'classifyingOutcome', actions: { type: 'setOutcome', params: ({ event }) => event } },
        onError: { ...classifyFault, target: 'clearingStaging' },
      },
    },
    clearingStaging: {
      description: 'Removes what an apply has unpacked and rendered; nothing of the bundle was promoted.',
      invoke: {
        id: 'clearStaging',
        src: 'clearStaging',
        input: ({ context }) => ({ desired: context.desired! }),
        onDone: 'classifyingFault',
        onError: { target: 'classifyingFault', actions: { type: 'logOutcome', params: ({ event }) => event } },
      },
    },
    takingDown: {
      description: 'Takes the project down (machine `down`).',
      invoke: {
        id: 'down',
        src: 'down',
        input: ({ context: { found, desired } }) => ({ hold: found?.hold, desired: desired! }),
        onDone: { target: 'recordingOutcome', actions: { type: 'endAs', params: 'down' } },
        onError: classifyFault,
      },
    },
    classifyingFault: {
      description: 'Selects the row of the transition table for the fault of the last step.',
      always: [
        {
          guard: 'hasInterruptedAttempt',
          target: 'revertingInterrupted',
          description: 'an earlier apply was cut short, and none could begin now',
        },
        ...failureRows.map(([ending, description]) => ({
          guard: { type: 'endsAs' as const, params: ending },
          target: 'classifyingOutcome' as const,
          description,
        })),
        { target: 'classifyingOutcome', description: 'any | tick | anything else fails' },
      ],
    },
    classifyingOutcome: {
      description: 'Selects whether the applied release is healed although the tick failed.',
      always: [
        {
          guard: 'mayHealDespite',
          target: 'healingDespite',
          description: 'any | tick | it failed and changed no container, and the host is not healthy',
        },
        { target: 'recordingOutcome' },
      ],
    },
    healingDespite: {
      description: 'Heals the applied release; the outcome of the tick stays.',
      invoke: {
        id: 'healDespite',
        src: 'healDespite',
        input: ({ context: { found, observed, desired, outcome } }) => ({
          ...{ hold: found?.hold, desired },
          ...{ observed: observed!, outcome: outcome! },
        }),
        onDone: { target: 'recordingOutcome', actions: { type: 'setOutcome', params: ({ event }) => event } },
        onError: { target: 'recordingOutcome', actions: { type: 'logOutcome', params: ({ event }) => event } },
      },
    },
    revertingInterrupted: {
      description: 'Reverts an interrupted attempt to the applied release.',
      invoke: {
        id: 'revertInterrupted',
        src: 'revertInterrupted',
        input: ({ context: { found, desired } }) => ({ hold: found?.hold, desired }),
        onDone: 'recordingOutcome',
        onError: { target: 'recordingOutcome', actions: { type: 'logOutcome', params: ({ event }) => event } },
      },
    },
    recordingOutcome: {
      description: 'Writes the outcome to the journal and, with its report, to state.json; then collects garbage.',
      entry: 'logOutcome',
      invoke: {
        id: 'recordOutcome',
        src: 'recordOutcome',
        input: ({ context: { options, found, outcome, desired, observed } }) => ({
          ...{ intent: options.intent, hold: found?.hold, desired, observed },
          outcome: outcome!,
        }),
        onDone: [
          {
            guard: { type: 'alarms', params: ({ event }) => event },
            target: 'decidingPrune',
            actions: 'endAsOfflineAlarm',
            description: 'offline for longer than `offline_alarm_s`',
          },
          {
            guard: 'mayReport',
            target: 'reporting',
            actions: { type: 'setRecorded', params: ({ event }) => event },
          },
          { target: 'decidingPrune' },
        ],
        onError: { target: 'decidingPrune', actions: { type: 'logOutcome', params: ({ event }) => event } },
      },
    },
    reporting: {
      description: 'Reports the outcome to the tenancy service; a failed delivery does not change the outcome.',
      invoke: {
        id: 'deliverReports',
        src: 'deliverReports',
        input: ({ context }) => ({ heartbeat: context.recorded!.heartbeat }),
        onDone: 'decidingPrune',
        onError: 'decidingPrune',
      },
    },
    decidingPrune: { always: [{ guard: 'wantsPrune', target: 'pruning' }, { target: 'renewingToken' }] },
    pruning: {
      description: 'With `--prune`: removes all releases except the applied one and, after an apply, dangling images.',
      invoke: {
        id: 'prune',
        src: 'prune',
        input: ({ context: { found, outcome } }) => ({ hold: found?.hold, outcome: outcome! }),
        onDone: 'renewingToken',
        onError: { target: 'renewingToken', actions: { type: 'logOutcome', params: ({ event }) => event } },
      },
    },
    renewingToken: {
      description: 'Revokes short-lived tokens; renews the token, or replaces it before its maximum lifetime.',
      invoke: {
        id: 'renewToken',
        src: 'renewToken',
        input: ({ context }) => ({ outcome: context.outcome! }),
        onDone: [
          {
            guard: { type: 'tokenAtRisk', params: ({ event }) => event },
            target: 'releasingLock',
            actions: 'endAsTokenAtRisk',
          },
          { target: 'releasingLock' },
        ],
        onError: { target: 'releasingLock', actions: { type: 'logOutcome', params: ({ event }) => event } },
      },
    },
    releasingLock: {
      description: 'Clears every secret from memory and releases the lock.',
      entry: 'clearSecrets',
      invoke: { id: 'releaseLock', src: 'releaseLock', onDone: 'selectingEnding', onError: 'selectingEnding' },
    },
    selectingEnding: {
      always: endingNames.map((ending) => ({ guard: { type: 'endsAs' as const, params: ending }, target: ending })),
    },
    ...endings,
  },
});
