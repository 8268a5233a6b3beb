import type { BackendDetails } from '../api/types.ts';
import type { Tone } from './condition.ts';
import { isShared } from './swarms.ts';

/** A step of a retirement, and how far it is. */
export interface RetirementStep {
  name: string;
  tone: Tone;
  word: string;
  /** Why the last try has failed. */
  error: string | null;
}

/** What follows after the host is down, in the words of operators. */
const finishingSteps: Record<string, string> = {
  revokeToken: 'The token of its host is revoked',
  deleteIdentity: 'Its identity in the mesh is deleted',
  destroySecrets: 'The secrets of its env are destroyed if no backend is left there',
};

const ends: readonly BackendDetails['state'][] = ['finishing', 'retired'];

/** Every step of the retirement of a backend. */
export function retirementSteps(
  backend: Pick<BackendDetails, 'state' | 'finished' | 'pending_steps' | 'managers'>,
): RetirementStep[] {
  const isDown = ends.includes(backend.state);
  const down = isDown ? 'done' : backend.state === 'retiring' ? 'waits' : 'to do';
  const finishing = Object.entries(finishingSteps).map(([step, name]) => {
    const pending = backend.pending_steps.find((each) => each.step === step);
    return stepOf(name, backend.finished.includes(step) ? 'done' : pending ? 'waits' : 'to do', pending?.error ?? null);
  });
  return [stepOf(downOf(backend), down, null), ...finishing];
}

function downOf(backend: Pick<BackendDetails, 'managers'>): string {
  if (isShared(backend)) return 'Its agent ends; what the other managers of its swarm run stays';
  return backend.managers.length > 0
    ? 'The leader of its swarm takes everything down'
    : 'Its host takes everything down';
}

const tones = { done: 'good', waits: 'later', failed: 'bad', 'to do': 'idle' } as const satisfies Record<string, Tone>;

function stepOf(name: string, word: keyof typeof tones, error: string | null): RetirementStep {
  const told = error === null ? word : 'failed';
  return { name, tone: tones[told], word: told === 'failed' ? 'failed, is tried again' : told, error };
}
