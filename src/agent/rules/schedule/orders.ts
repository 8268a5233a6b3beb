import type { Host, Orders, Pause } from '../../../../machines/words.ts';
import type { Answer } from '../../../protocol/checkIn.ts';
import { pauseOf } from './retryBackoff.ts';
import type { State } from '../state/state.ts';

/** What this host knows of itself when an answer comes in. */
export interface Standing {
  state: State;
  host: Host;
  /** Config `production`. */
  production: boolean;
  now: Date;
}

/** The tick's orders: the answer of the tenancy service in the light of what this host knows (spec §5). */
export function ordersOf(answer: Answer, standing: Standing): Orders {
  const { state } = standing;
  return {
    action: answer.action,
    desiredSha: answer.desiredSha,
    appliedSha: state.applied_sha,
    sizeBytes: answer.sizeBytes,
    production: standing.production || answer.production || state.production,
    purgeVolumes: answer.purgeVolumes,
    reason: reasonOf(answer, standing),
    pause: pauseFor(answer, standing),
  };
}

function reasonOf(answer: Answer, { state, host }: Standing): string {
  if (answer.action !== 'apply') return answer.action === 'down' ? 'retired' : driftOf(host);
  if (answer.desiredSha === state.applied_sha) return host.healthy ? 'reapply' : driftOf(host);
  if (state.failing?.sha === answer.desiredSha) return `retry:${state.failing.count}`;
  if (state.attempt?.sha === answer.desiredSha) return `resume:${state.attempt.phase}`;
  return 'sha_changed';
}

function driftOf({ ailing }: Host): string {
  return ailing.length > 0 ? `drift:${ailing.join(',')}` : '';
}

function pauseFor(answer: Answer, { state, now }: Standing): Pause | null {
  const retryInS = answer.action === 'apply' ? pauseOf(state.failing, answer.desiredSha, now) : 0;
  if (retryInS === 0 || !state.failing) return null;
  return { line: `${state.failing.line}; retry in ${retryInS}s`, retryInS };
}
