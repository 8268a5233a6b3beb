import type { Backend, BackendState } from '../api/types.ts';

/** How good a state is: it works, it will by itself, somebody must act, or it does not matter any more. */
export type Tone = 'good' | 'later' | 'bad' | 'idle';

/** What a state means to an operator. */
export interface Condition {
  word: string;
  tone: Tone;
  meaning: string;
}

/** Every state of a backend's life. */
export const stateConditions: Record<BackendState, Condition> = {
  created: { word: 'created', tone: 'later', meaning: 'No install kit was revealed yet.' },
  invited: { word: 'invited', tone: 'later', meaning: 'Its install kit was revealed; no host has checked in yet.' },
  active: { word: 'active', tone: 'good', meaning: 'Its host checks in.' },
  offline: { word: 'offline', tone: 'bad', meaning: 'Its host is silent; what is desired of it waits.' },
  retiring: { word: 'retiring', tone: 'later', meaning: 'Its host takes everything down at its next check-in.' },
  finishing: { word: 'finishing', tone: 'later', meaning: 'Its credentials are being revoked.' },
  retired: { word: 'retired', tone: 'idle', meaning: 'Nothing of it is left but its reports and the audit log.' },
};

const troubles = {
  refused: { word: 'refused', tone: 'bad', meaning: 'Its host refuses the desired bundle, and keeps what it has.' },
  failed: { word: 'failed', tone: 'bad', meaning: 'Its host has tried to apply the desired bundle, and failed.' },
} as const satisfies Record<string, Condition>;

type ConditionFacts = Pick<Backend, 'state' | 'healthy' | 'trouble' | 'applied_sha' | 'desired_sha'>;

/** What an operator should know of a backend first. */
export function conditionOf(backend: ConditionFacts): Condition {
  if (backend.state !== 'active') return stateConditions[backend.state];
  if (backend.trouble === 'refused' || backend.trouble === 'failed') return troubles[backend.trouble];
  if (backend.healthy === false || backend.trouble === 'unhealthy')
    return { word: 'unhealthy', tone: 'bad', meaning: 'Its host checks in, and something that should run does not.' };
  if (backend.healthy === null)
    return { word: 'unknown', tone: 'later', meaning: 'Its host has not checked in lately.' };
  if (isBehind(backend))
    return { word: 'behind', tone: 'later', meaning: 'Its host does not run the desired bundle yet.' };
  return stateConditions.active;
}

/** Whether a host is to run another bundle than it does. */
export function isBehind({ applied_sha, desired_sha }: Pick<Backend, 'applied_sha' | 'desired_sha'>): boolean {
  return desired_sha !== null && applied_sha !== desired_sha;
}

/** What defers the work of a host, by the word of the API. */
export const deferralConditions: Record<NonNullable<Backend['deferred_by']>, Condition> = {
  hold: { word: 'held', tone: 'later', meaning: 'An operator holds its host: nothing is changed there.' },
  window: { word: 'window closed', tone: 'idle', meaning: 'Its host waits until one of its windows opens.' },
};

const outcomes: Record<string, Tone> = {
  heartbeat: 'good',
  applied: 'good',
  down: 'idle',
  unhealthy: 'bad',
  refused: 'bad',
  failed: 'bad',
};

/** How good the outcome of a tick is. */
export function outcomeTone(outcome: string): Tone {
  return outcomes[outcome] ?? 'idle';
}

/** The first characters of a digest, as the command line shows it. */
export function shortSha(sha256: string | null): string {
  return sha256 === null ? '–' : sha256.slice(0, 12);
}

/** A text in which digests are short. */
export function shortDigests(text: string): string {
  return text.replace(/\b[0-9a-f]{64}\b/g, (sha256) => shortSha(sha256));
}

/** How good it is that a container is in a state: one that has exited with 0 has done its work; of a silent host nobody knows. */
export function containerTone({ state, health, exit_code }: ContainerFacts, isKnown: boolean): Tone {
  if (!isKnown) return 'idle';
  if (health === 'unhealthy') return 'bad';
  if (state === 'running') return health === 'starting' ? 'later' : 'good';
  return state === 'exited' && exit_code === 0 ? 'idle' : 'bad';
}

interface ContainerFacts {
  state: string;
  health: string | null;
  exit_code: number | null;
}
