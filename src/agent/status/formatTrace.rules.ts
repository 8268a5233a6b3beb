import { endingNames, endings } from '../../../machines/endings.ts';
import { type RefusalCode, refusals } from '../../../machines/refusals.ts';
import {
  type Decision,
  type RecordedDecision,
  type ReplacementReason,
  replacementReasons,
  type Step,
  type Trace,
  wasMadeIn,
} from '../journal/trace.rules.ts';
import { peerNames } from '../transport/classifyError.rules.ts';

/** A trace as text: the ending, the reasons, the slowest states, then the timeline. */
export function formatTrace(trace: Trace): string {
  const { tick, started_at, env, version, ending, exit, ms, said = [] } = trace;
  const reasons = reasonsOf(trace).map((reason) => `  ${reason}`);
  return [
    `tick ${tick} of environment ${env}, ${started_at}, deployd ${version}`,
    `${ending} after ${formatDuration(ms)}, exit ${exit}: ${endings[ending].description}`,
    ...(reasons.length > 0 ? ['', 'Why', ...reasons] : []),
    ...(said.length > 0 ? ['', 'What failed', ...said.map((line) => `  ${line}`)] : []),
    ...['', 'Longest', `  ${formatSlowest(trace)}`],
    ...['', 'Way', ...formatTimeline(trace)],
    ...(exit === 0 ? [] : ['', `All it said: journalctl -u deployd.service | grep tick=${tick}`]),
  ].join('\n');
}

/** A trace as one line of a list. */
export function formatTraceLine(trace: Trace): string {
  const { tick, started_at, ending, codes, ms, intent } = trace;
  const [first = '', ...others] = reasonsOf(trace);
  const why = `${first}${others.length > 0 ? ' …' : ''}`;
  const [code] = codes;
  const named = code !== undefined && !why.startsWith(code) ? ` ${codes.join(', ')}` : '';
  const what = intent === 'bootstrap' ? 'bootstrap ' : '';
  return `${started_at.slice(0, 19)}Z  ${tick.slice(0, 8)}  ${formatDuration(ms).padStart(7)}  ${what}${ending}${named}: ${why}`;
}

/** The slowest states, without the tick's states that run another machine. */
function formatSlowest({ steps, ms }: Trace): string {
  const own = steps.filter((step) => !transientStates.has(step.state) && !steps.some((other) => isNested(other, step)));
  const slowest = own.toSorted((a, b) => b.ms - a.ms).slice(0, 3);
  const share = (step: Step) =>
    `${step.state} ${formatDuration(step.ms)} (${Math.round((step.ms / Math.max(1, ms)) * 100)} %)`;
  return slowest.map(share).join(', ');
}

function isNested(inner: Step, outer: Step): boolean {
  const begins = inner.at_ms >= outer.at_ms && inner.at_ms <= outer.at_ms + outer.ms;
  return (
    inner.machine !== 'tick' && outer.machine === 'tick' && ['applying', 'takingDown'].includes(outer.state) && begins
  );
}

/** States in the order of entry, each followed by its decisions. */
function formatTimeline({ steps, decisions }: Trace): string[] {
  const shown = steps.filter(({ state }) => !transientStates.has(state));
  return shown.flatMap((step) => [
    formatStep(step),
    ...decisions.filter((each) => wasMadeIn(step, each)).map(formatDecision),
  ]);
}

function formatDecision(decision: RecordedDecision): string {
  return `${' '.repeat(15)}→ ${describeDecision(decision)}`;
}

/** States without work, which are left at once, and the endings, which the first line shows. */
const transientStates = new Set([
  ...['selectingCredential', 'deciding', 'classifyingFault', 'decidingPrune', 'selectingEnding', 'done'],
  ...endingNames,
]);

function formatStep({ machine, state, at_ms, ms }: Step): string {
  const name = `${machine === 'tick' ? '' : '  '}${state}`;
  return `${formatDuration(at_ms).padStart(9)}  ${name.padEnd(26)}${formatDuration(ms).padStart(9)}`;
}

/** Milliseconds as a text for people. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

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
function describeDecision(decision: Decision): string {
  switch (decision.word) {
    case 'desired':
      return describeDesired(decision);
    case 'paused':
      return `the desired bundle has failed; it is not tried again for another ${decision.seconds} s`;
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
    case 'replaced':
      return `replaced start-first: ${decision.services.join(', ')}`;
    case 'orders':
      return describeOrders(decision);
    case 'current-restored':
      return `no container was changed; current is again ${decision.sha === null ? 'nothing' : shortSha(decision.sha)}`;
    case 'reverted':
      return `the previous release, ${shortSha(decision.sha)}, was restored and is healthy`;
    case 'revert-failed':
      return `the previous release, ${shortSha(decision.sha)}, could not be restored yet; the next tick continues`;
    case 'revert-ended':
      return `the previous release, ${shortSha(decision.sha)}, could not be restored; the next bundle is applied as usual`;
    case 'interrupted-reverted':
      return `the interrupted apply was undone; ${shortSha(decision.sha)} is current`;
    default:
      return describeEvent(decision);
  }
}

/** The unhealthy nodes of a swarm. */
function onNodes(nodes: readonly string[] = []): string {
  return nodes.length === 0 ? '' : `; on ${nodes.join(', ')}`;
}

/** A decision without facts. Traces of other agent versions on disk may contain other words. */
function describeEvent({ word }: { word: string }): string {
  return eventSentences[word] ?? word;
}

const eventSentences: Readonly<Record<string, string>> = {
  'engine-unreachable': 'the container engine did not answer',
  'engine-failed': 'the container engine could not list the containers',
  'not-reverted': 'the failed release was left: there is no previous release, or on_failure is leave',
  'token-replaced': 'the token was replaced before its maximum lifetime',
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
  'replaced',
  'current-restored',
  'not-reverted',
  'reverted',
  'revert-failed',
  'revert-ended',
  'interrupted-reverted',
]);

const deferralMeanings = {
  hold: 'deployments on this host are paused',
  window: 'no window of this host is open',
  leader: 'another manager of the swarm is the leader',
};

function describeDesired({ action, applied, desired, reason }: Extract<Decision, { word: 'desired' }>): string {
  const [kind, detail = ''] = reason.split(':');
  const target = desired === null ? 'nothing' : shortSha(desired);
  switch (kind) {
    case 'sha_changed':
      return applied === null
        ? `the desired bundle is ${target}; no bundle is applied`
        : `the desired bundle changed from ${shortSha(applied)} to ${target}`;
    case 'retry':
      return `${target} is tried again; failed attempts so far: ${detail}`;
    case 'resume':
      return `the interrupted apply of ${target} continues (${detail})`;
    case 'reapply':
      return `${target} is already applied, and is applied again as requested`;
    case 'drift':
      return `services were unhealthy: ${detail.replaceAll(',', ', ')}`;
    case 'leader':
      return `${detail} is the leader of the swarm`;
    case 'retired':
      return 'the backend is retired, so the project goes down';
    default:
      return action === 'none' ? 'the desired bundle has not changed' : `the action is ${action}`;
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

function describeOrders(decision: Extract<Decision, { word: 'orders' }>): string {
  const parts = Object.entries(replacementReasons).flatMap(([reason, { order, why }]) => {
    const services = decision[reason as ReplacementReason] ?? [];
    return services.length === 0 ? [] : [`${order}: ${services.join(', ')} (${why})`];
  });
  return parts.join('; ');
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

/** The meaning of each common failure; machines/refusals.ts has the meanings of refusals (spec §9). */
const failureMeanings: Readonly<Record<string, string>> = {
  PULL_FAILED: 'an image could not be pulled from its registry',
  UP_FAILED: 'docker compose up failed',
  DOWN_FAILED: 'docker compose down failed',
  UNHEALTHY: 'containers did not become healthy in time',
  RUNTIME_UNAVAILABLE: 'the container engine does not answer',
  ENGINE_ERROR: 'the container engine answers with an error',
  AGENT_UNAUTHENTICATED: 'the tenancy service or the mesh refuses this agent; a new grant is needed',
  AGENT_ENV_MISMATCH: 'the token belongs to an environment other than `env` in config.yaml',
  HOST_CLONED: 'another host uses the token of this host; an operator must accept one of them',
  TLS_UNTRUSTED: 'the certificate of a service is not trusted',
  CLOCK_SKEW: 'the clock of this host is wrong',
  DISK_WRITE_FAILED: 'a file of the agent cannot be written',
};
