import type { RolloutEvent } from '../../../../machines/rollout.ts';
import { oneLine } from '../webhooks/event.ts';

/** What a webhook has said at a gate. */
export interface GateVerdict {
  pass: boolean;
  reason: string | null;
}

/** The verdict in the body of an answer; null if there is none. */
export function verdictOf(body: string): GateVerdict | null {
  const answer = parseJson(body);
  if (typeof answer !== 'object' || answer === null || !('pass' in answer)) return null;
  const { pass } = answer;
  const reason = 'reason' in answer ? answer.reason : null;
  if (typeof pass !== 'boolean' || (reason !== null && typeof reason !== 'string')) return null;
  return { pass, reason: reason && oneLine(reason) };
}

/** What a verdict means for the rollout; without one it waits, but not for ever. */
export function eventOfGate(verdict: GateVerdict | null, isOverdue: boolean): RolloutEvent | null {
  if (verdict?.pass === true) return { type: 'PASS_GATE' };
  return verdict !== null || isOverdue ? { type: 'HALT', by: 'gate' } : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
