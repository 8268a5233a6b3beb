import type { RefusalCode } from '../../../../machines/words.ts';
import type { Decision, Trace } from './trace.ts';

/** Why the tick came out as it did, in sentences, the cause before the consequence. */
export function reasonsOf({ ending, codes, decisions }: Trace): string[] {
  const ordered = decisions.filter((each) => each.word === 'ordered' && each.reason !== '').map(decisionText);
  const met = decisions.filter(({ word }) => telling.has(word)).map(decisionText);
  const isOffline = ending === 'offline' || ending === 'offlineLaptop';
  const troubles = isOffline ? troublesOf(decisions) : [];
  const sentences = [...ordered, ...codes.map(codeText), ...troubles, ...met];
  return sentences.length > 0 ? [...new Set(sentences)] : decisions.slice(0, 1).map(decisionText);
}

/** One decision as a sentence. */
export function decisionText(decision: Decision): string {
  switch (decision.word) {
    case 'ordered':
      return orderText(decision);
    case 'paused':
      return `the wanted bundle failed before; it is not tried again for another ${decision.seconds} s`;
    case 'ailing':
      return `not well: ${decision.services.join(', ')}`;
    case 'half-made':
      return `an apply of ${short(decision.sha)} was cut short earlier (${decision.phase})`;
    case 'engine-silent':
      return 'the container engine did not answer';
    case 'troubled':
      return `${peers[decision.peer]}: ${decision.error}`;
    case 'downloaded':
      return `${decision.bytes} bytes of the bundle arrived`;
    case 'secrets-read':
      return `secrets read: ${decision.count}`;
    case 'started':
      return startedText(decision);
    case 'put-back':
      return `no container was touched; in force is again ${decision.sha === null ? 'nothing' : short(decision.sha)}`;
    case 'left':
      return 'what failed is left as it is: there is no release before it, or on_failure is leave';
    case 'reverted':
      return `the release before, ${short(decision.sha)}, was brought back and is well`;
    case 'revert-failed':
      return `the release before, ${short(decision.sha)}, could not be brought back yet; the next tick goes on`;
    case 'mended':
      return `the half-made apply was undone; ${short(decision.sha)} is in force`;
    case 'leased-anew':
      return 'the token was leased anew before its maximum';
  }
}

/** Enough of a digest for people; the whole one stands in the JSON. */
export function short(sha: string): string {
  return sha.slice(0, 12);
}

const telling = new Set<Decision['word']>([
  'paused',
  'engine-silent',
  'started',
  'put-back',
  'left',
  'reverted',
  'revert-failed',
  'mended',
]);

const peers = { tenancy: 'tenancy service', secretstore: 'secretstore', storage: 'storage host' };

function orderText({ action, applied, desired, reason }: Extract<Decision, { word: 'ordered' }>): string {
  const [word, detail = ''] = reason.split(':');
  const wanted = desired === null ? 'nothing' : short(desired);
  switch (word) {
    case 'sha_changed':
      return applied === null
        ? `the wanted bundle is ${wanted}, and none was applied`
        : `the wanted bundle changed from ${short(applied)} to ${wanted}`;
    case 'retry':
      return `${wanted} is tried again, failed tries so far: ${detail}`;
    case 'resume':
      return `an apply of ${wanted} that was cut short goes on (${detail})`;
    case 'reapply':
      return `${wanted} is applied and was ordered again`;
    case 'drift':
      return `services were not well: ${detail.replaceAll(',', ', ')}`;
    case 'retired':
      return 'the backend is retired, so the project goes down';
    default:
      return action === 'none' ? 'nothing new is wanted' : `ordered was ${action}`;
  }
}

function startedText({ services, untouched, gone }: Extract<Decision, { word: 'started' }>): string {
  const parts = [
    ['in new containers', services],
    ['untouched', untouched],
    ['gone', gone],
  ] as const;
  const told = parts.flatMap(([what, names]) => (names.length > 0 ? [`${what}: ${names.join(', ')}`] : []));
  return told.length > 0 ? told.join('; ') : 'there was nothing to start';
}

function troublesOf(decisions: readonly Decision[]): string[] {
  const told = decisions.filter(({ word }) => word === 'troubled').map(decisionText);
  return [...new Set(told)].map((text) => {
    const tries = told.filter((each) => each === text).length;
    return tries === 1 ? text : `${text}, ${tries} times`;
  });
}

function codeText(code: string): string {
  const meaning = (meanings as Partial<Record<string, string>>)[code];
  return meaning === undefined ? code : `${code}: ${meaning}`;
}

/** What each refusal, and each common failure, means (spec §9). */
const meanings: Record<RefusalCode, string> & Record<string, string> = {
  BUNDLE_DIGEST: 'the bytes that arrived are not those that were announced',
  BUNDLE_UNSAFE: 'the archive holds what a bundle may not hold, or too much of it',
  MANIFEST_INVALID: 'manifest.json is not of the schema, or of another env',
  SECRET_PATH_REFUSED: 'a secret outside the branch of this env is asked for',
  ENV_INCOMPLETE: 'the compose files name variables that nobody supplies',
  COMPOSE_REFUSED: 'the compose files use what no bundle may use',
  PRIVILEGED_REFUSED: 'power over the host is asked for, and the agent profile lacks allow_privileged',
  HOST_NETWORK_REFUSED: 'the network of the host is asked for, and the agent profile lacks allow_privileged',
  ROLLBACK_REFUSED: 'a newer bundle was applied before, and the agent profile lacks allow_rollback',
  VOLUME_DIVERGED: 'a volume would have to be made anew, which loses what is in it',
  DISK_INSUFFICIENT: 'a filesystem that the pull fills has too little room',
  LEASE_SHAPE: 'the tenancy service gave a lease of AppRole shape',
  SECRET_UNAVAILABLE: 'the secretstore does not give a secret of the manifest',
  SECRET_UNUSABLE: 'a secret cannot be a variable: no text, a NUL in it, or too long',
  PULL_FAILED: 'docker compose pull failed',
  UP_FAILED: 'docker compose up failed',
  DOWN_FAILED: 'docker compose down failed',
  UNHEALTHY: 'containers did not become well in time',
  RUNTIME_UNAVAILABLE: 'the container engine does not answer',
  AGENT_UNAUTHENTICATED: 'the tenancy service or the mesh refuses this agent; a new grant is needed',
  AGENT_ENV_MISMATCH: 'the token belongs to another env than config.yaml says',
  TLS_UNTRUSTED: 'the certificate of a service is not trusted',
  CLOCK_SKEW: 'the clock of this host is wrong',
  DISK_WRITE_FAILED: 'the state directory cannot be written to',
};
