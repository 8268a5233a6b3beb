import { refusals, type RefusalCode } from '../../../../machines/refusals.ts';
import { peerNames } from '../errors/classifyError.ts';
import type { Decision, Trace } from './trace.ts';

/** The reasons for the ending of a tick, as sentences, each cause before its consequence. */
export function reasonsOf({ ending, codes, decisions }: Trace): string[] {
  const desired = decisions.filter((each) => each.word === 'desired' && each.reason !== '').map(describeDecision);
  const events = decisions.filter(({ word }) => explanatoryWords.has(word)).map(describeDecision);
  const isOffline = ending.startsWith('offline');
  const callErrors = isOffline ? describeCallErrors(decisions) : [];
  const sentences = [...desired, ...codes.map(describeCode), ...callErrors, ...events];
  return sentences.length > 0 ? [...new Set(sentences)] : decisions.slice(0, 1).map(describeDecision);
}

/** One decision as a sentence. */
export function describeDecision(decision: Decision): string {
  switch (decision.word) {
    case 'desired':
      return describeDesired(decision);
    case 'paused':
      return `the wanted bundle failed before; it is not tried again for another ${decision.seconds} s`;
    case 'deferred':
      return deferralMeanings[decision.by];
    case 'unhealthy':
      return `unhealthy: ${decision.services.join(', ')}${onNodes(decision.nodes)}`;
    case 'attempt-found':
      return `an apply of ${shortSha(decision.sha)} was cut short earlier (${decision.phase})`;
    case 'call-failed':
      return `${peerNames[decision.peer]}: ${decision.error}`;
    case 'downloaded':
      return `${decision.bytes} bytes of the bundle arrived`;
    case 'signed':
      return `signed by ${decision.signers.join(', ')}`;
    case 'image-signed':
      return `image of ${decision.service} signed by ${decision.signers.join(', ')} (${decision.digest})`;
    case 'secrets-read':
      return `secrets read: ${decision.count}`;
    case 'started':
      return describeStarted(decision);
    case 'current-restored':
      return `no container was touched; in force is again ${decision.sha === null ? 'nothing' : shortSha(decision.sha)}`;
    case 'reverted':
      return `the release before, ${shortSha(decision.sha)}, was restored and is healthy`;
    case 'revert-failed':
      return `the release before, ${shortSha(decision.sha)}, could not be brought back yet; the next tick goes on`;
    case 'revert-ended':
      return `the release before, ${shortSha(decision.sha)}, could not be brought back; the next bundle is applied as usual`;
    case 'interrupted-reverted':
      return `the half-made apply was undone; ${shortSha(decision.sha)} is in force`;
    default:
      return describeEvent(decision);
  }
}

/** The nodes of a swarm on which something is not well. */
function onNodes(nodes: readonly string[] = []): string {
  return nodes.length === 0 ? '' : `; on ${nodes.join(', ')}`;
}

/** A decision without facts. Traces of other versions of the agent, which are still on the disk, may have other words. */
function describeEvent({ word }: { word: string }): string {
  return eventSentences[word] ?? word;
}

const eventSentences: Readonly<Record<string, string>> = {
  'engine-unreachable': 'the container engine did not answer',
  'engine-failed': 'the container engine could not tell what runs',
  'not-reverted': 'what failed is left as it is: there is no release before it, or on_failure is leave',
  'token-replaced': 'the token was leased anew before its maximum',
};

/** The first 12 digits of a digest; the JSON contains all. */
export function shortSha(sha: string): string {
  return sha.slice(0, 12);
}

const explanatoryWords = new Set<Decision['word']>([
  'paused',
  'deferred',
  'engine-unreachable',
  'engine-failed',
  'started',
  'current-restored',
  'not-reverted',
  'reverted',
  'revert-failed',
  'revert-ended',
  'interrupted-reverted',
]);

const deferralMeanings = {
  hold: 'an operator holds this host',
  window: 'no window of this host is open',
  leader: 'another manager of the swarm leads, and acts',
};

function describeDesired({ action, applied, desired, reason }: Extract<Decision, { word: 'desired' }>): string {
  const [kind, detail = ''] = reason.split(':');
  const target = desired === null ? 'nothing' : shortSha(desired);
  switch (kind) {
    case 'sha_changed':
      return applied === null
        ? `the wanted bundle is ${target}, and none was applied`
        : `the wanted bundle changed from ${shortSha(applied)} to ${target}`;
    case 'retry':
      return `${target} is tried again, failed tries so far: ${detail}`;
    case 'resume':
      return `an apply of ${target} that was cut short goes on (${detail})`;
    case 'reapply':
      return `${target} is applied and was ordered again`;
    case 'drift':
      return `services were unhealthy: ${detail.replaceAll(',', ', ')}`;
    case 'leader':
      return `${detail} leads the swarm`;
    case 'retired':
      return 'the backend is retired, so the project goes down';
    default:
      return action === 'none' ? 'nothing new is wanted' : `ordered was ${action}`;
  }
}

function describeStarted({ services, untouched, gone }: Extract<Decision, { word: 'started' }>): string {
  const parts = [
    ['in new containers', services],
    ['untouched', untouched],
    ['gone', gone],
  ] as const;
  const described = parts.flatMap(([what, names]) => (names.length > 0 ? [`${what}: ${names.join(', ')}`] : []));
  return described.length > 0 ? described.join('; ') : 'there was nothing to start';
}

function describeCallErrors(decisions: readonly Decision[]): string[] {
  const texts = decisions.filter(({ word }) => word === 'call-failed').map(describeDecision);
  return [...new Set(texts)].map((text) => {
    const tries = texts.filter((each) => each === text).length;
    return tries === 1 ? text : `${text}, ${tries} times`;
  });
}

function describeCode(code: string): string {
  const meaning = isRefusal(code) ? refusals[code].meaning : failureMeanings[code];
  return meaning === undefined ? code : `${code}: ${meaning}`;
}

function isRefusal(code: string): code is RefusalCode {
  return Object.hasOwn(refusals, code);
}

/** What each common failure means; refusals have their meaning in machines/refusals.ts (spec §9). */
const failureMeanings: Readonly<Record<string, string>> = {
  PULL_FAILED: 'an image cannot be had from its registry',
  UP_FAILED: 'docker compose up failed',
  DOWN_FAILED: 'docker compose down failed',
  UNHEALTHY: 'containers did not become healthy in time',
  RUNTIME_UNAVAILABLE: 'the container engine does not answer',
  ENGINE_ERROR: 'the container engine answers, but cannot do what was asked',
  AGENT_UNAUTHENTICATED: 'the tenancy service or the mesh refuses this agent; a new grant is needed',
  AGENT_ENV_MISMATCH: 'the token belongs to another env than config.yaml says',
  TLS_UNTRUSTED: 'the certificate of a service is not trusted',
  CLOCK_SKEW: 'the clock of this host is wrong',
  DISK_WRITE_FAILED: 'the state directory cannot be written to',
};
