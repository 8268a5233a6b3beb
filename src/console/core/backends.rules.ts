import type { Backend, BackendDetails, BackendState, EnvCounts, ReceivedReport, TroubleGroup } from '../api/types.ts';

/** How good a state is: it works, it will by itself, somebody must act, or it does not matter any more. */
export type Tone = 'good' | 'later' | 'bad' | 'idle';

/** The meaning of a state for operators. */
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
  offline: { word: 'offline', tone: 'bad', meaning: 'It does not check in. It gets its bundle when it is back.' },
  retiring: { word: 'retiring', tone: 'later', meaning: 'Its host takes everything down at its next check-in.' },
  finishing: { word: 'finishing', tone: 'later', meaning: 'Its credentials are being revoked.' },
  retired: { word: 'retired', tone: 'idle', meaning: 'Nothing of it is left but its reports and the audit log.' },
};

const locked: Condition = {
  word: 'locked',
  tone: 'bad',
  meaning: 'An operator has locked it: its host gets no orders, bundles or secrets.',
};

const cloned: Condition = {
  word: 'cloned',
  tone: 'bad',
  meaning: 'Two hosts use its token. Neither gets bundles until an administrator accepts one.',
};

const asleep: Condition = {
  word: 'asleep',
  tone: 'idle',
  meaning: 'It is a laptop that does not check in now. It gets its bundle when it is back.',
};

const troubles = {
  refused: { word: 'refused', tone: 'bad', meaning: 'Its host refuses a bundle, and keeps what it has.' },
  failed: { word: 'failed', tone: 'bad', meaning: 'Its host has tried to apply a bundle, and failed.' },
} as const satisfies Record<string, Condition>;

/** Every cause of trouble: its tone, what its hosts do, and the filter of the list that shows them. */
export const causeWords: Record<
  TroubleGroup['cause'],
  { tone: Tone; one: string; many: string; filter: Record<string, string> }
> = {
  failed: {
    ...{ tone: 'bad', one: 'has failed to apply a bundle', filter: { sick: 'true' } },
    many: 'have failed to apply a bundle',
  },
  refused: {
    ...{ tone: 'bad', one: 'refuses a bundle, and keeps what it has', filter: { sick: 'true' } },
    many: 'refuse a bundle, and keep what they have',
  },
  unhealthy: {
    ...{ tone: 'bad', one: 'is unhealthy: a service does not run', filter: { sick: 'true' } },
    many: 'are unhealthy: a service does not run',
  },
  cloned: {
    ...{ tone: 'bad', one: 'shares its token with another host', filter: { cloned: 'true' } },
    many: 'share their tokens with other hosts',
  },
  locked: { tone: 'bad', one: 'is locked by an operator', many: 'are locked by an operator', filter: {} },
  offline: { tone: 'bad', one: 'does not check in', many: 'do not check in', filter: { state: 'offline' } },
  asleep: {
    ...{ tone: 'idle', one: 'is a laptop that does not check in now', filter: { state: 'offline' } },
    many: 'are laptops that do not check in now',
  },
};

type ConditionFacts = Pick<Backend, 'state' | 'healthy' | 'trouble' | 'applied_sha' | 'desired_sha'> &
  Partial<Pick<Backend, 'locked_at' | 'cloned_at' | 'leftover' | 'laptop'>>;

/** The most important facts about a backend. */
export function conditionOf(backend: ConditionFacts): Condition {
  if (backend.leftover)
    return { word: `${backend.state}, may still run`, tone: 'bad', meaning: `Warning: ${backend.leftover}.` };
  if (backend.locked_at) return locked;
  if (backend.cloned_at) return cloned;
  if (backend.state === 'offline' && backend.laptop) return asleep;
  if (backend.state !== 'active') return stateConditions[backend.state];
  if (backend.trouble === 'refused' || backend.trouble === 'failed') return troubles[backend.trouble];
  if (backend.healthy === false || backend.trouble === 'unhealthy')
    return { word: 'unhealthy', tone: 'bad', meaning: 'Its host checks in, and something that should run does not.' };
  if (backend.healthy === null)
    return { word: 'unknown', tone: 'later', meaning: 'Its host has not checked in lately.' };
  if (isBehind(backend))
    return { word: 'out of date', tone: 'later', meaning: 'Its host does not run the desired bundle yet.' };
  return stateConditions.active;
}

/** Whether a host is to run another bundle than it does. */
function isBehind({ applied_sha, desired_sha }: Pick<Backend, 'applied_sha' | 'desired_sha'>): boolean {
  return desired_sha !== null && applied_sha !== desired_sha;
}

/** The reason for a deferral, by the word of the API. */
export const deferralConditions: Record<NonNullable<Backend['deferred_by']>, Condition> = {
  hold: { word: 'paused', tone: 'later', meaning: 'An operator has paused its host: nothing is changed there.' },
  window: { word: 'window closed', tone: 'idle', meaning: 'Its host waits until one of its windows opens.' },
};

/** A host whose settings differ from the recorded ones of its environment. */
export const differingCondition: Condition = {
  word: 'settings differ',
  tone: 'bad',
  meaning: 'Its host has other settings than its environment.',
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

/** Output without the codes that colour a terminal; the page shows U+FFFD for their first character. */
export function withoutColours(output: string): string {
  return output.replace(/\ufffd\[[\d;?]*(?:[A-Za-z]|$)/gm, '');
}

/**
 * How good it is that a container is in a state: one that has exited with 0 has done its work; of a silent host nobody
 * knows.
 */
export function containerTone({ state, health, exit_code }: ContainerFacts, isKnown: boolean): Tone {
  if (!isKnown) return 'idle';
  if (health === 'unhealthy') return 'bad';
  if (state === 'running') return health === 'starting' ? 'later' : 'good';
  return state === 'exited' && exit_code === 0 ? 'idle' : 'bad';
}

/** A sentence for each container that should run and does not. */
export function brokenContainers(containers: readonly (ContainerFacts & { service: string })[]): string[] {
  return containers
    .filter((container) => containerTone(container, true) === 'bad')
    .map(({ service, state, health, exit_code }) => {
      if (health === 'unhealthy') return `The health check of ${service} fails.`;
      return `${service} is ${state}${exit_code === null ? '' : ` with ${exit_code}`}.`;
    });
}

interface ContainerFacts {
  state: string;
  health: string | null;
  exit_code: number | null;
}

const sentences: Readonly<Record<string, string>> = {
  heartbeat: 'It runs the desired bundle; nothing had to be done.',
  applied: 'It has applied the desired bundle.',
  unhealthy: 'It ran the desired bundle, but a service was unhealthy.',
  refused: 'It refused the bundle that was desired, and started nothing.',
  failed: 'It failed to apply the bundle that was desired.',
  down: 'It has taken everything down, as requested.',
};

type ExplainedReport = Pick<ReceivedReport, 'outcome' | 'reason' | 'reverted'>;

/** Why a host lets what is desired wait, by the reason of its heartbeat. */
const deferrals: Readonly<Record<string, string>> = {
  'waits:hold': 'An operator has paused deployments on it; the desired bundle waits.',
  'waits:window': 'The desired bundle waits until a maintenance window opens.',
};

const LEADER = 'leader:';

/** Why a host did what it did in a tick, in a sentence. */
export function explain({ outcome, reason, reverted }: ExplainedReport): string {
  if (reason.startsWith(LEADER))
    return `${reason.slice(LEADER.length)} leads its swarm and applies the desired bundle.`;
  const sentence = deferrals[reason] ?? sentences[outcome] ?? `It has ended as ${outcome}.`;
  return reverted ? `${sentence} It runs again what it ran before.` : sentence;
}

/** States that a backend leaves soon, in the order of its life. */
export const passingStates: readonly BackendState[] = ['created', 'invited', 'retiring', 'finishing'];

/** Number of backends by state, over some envs. */
export function countByState(envs: readonly Pick<EnvCounts, 'backends'>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { backends } of envs)
    for (const [state, count] of Object.entries(backends)) counts[state] = (counts[state] ?? 0) + count;
  return counts;
}

/** Backends that are not retired. */
export function countPresent(counts: Record<string, number>): number {
  return Object.entries(counts).reduce((sum, [state, count]) => (state === 'retired' ? sum : sum + count), 0);
}

/** The name of a host; its site, until it has checked in with a name. */
export function hostName({ host_name, site }: Pick<Backend, 'host_name' | 'site'>): string {
  return host_name ?? site;
}

/** How many hosts do something, with the form of the verb that fits. */
export function hostsThat(count: number, one: string, many: string): string {
  return count === 1 ? `1 host ${one}` : `${count.toLocaleString('en')} hosts ${many}`;
}

/** A row of the list of hosts. */
export interface HostRow<Host> {
  host: Host;
  /** Another manager of its swarm is listed above it, with their desired bundle. */
  isNested: boolean;
}

type ListedHost = Pick<Backend, 'id' | 'env' | 'swarm'>;

/** Hosts in their order, but the managers of a swarm together where the first of them stands, the leader first. */
export function rowsOf<Host extends ListedHost>(hosts: readonly Host[]): HostRow<Host>[] {
  const groups = Map.groupBy(hosts, ({ id, env, swarm }) => (swarm === null ? id : `${env} ${swarm.id}`));
  return [...groups.values()].flatMap((group) =>
    group.toSorted(byLeader).map((host, index) => ({ host, isNested: index > 0 })),
  );
}

function byLeader({ swarm: one }: ListedHost, { swarm: other }: ListedHost): number {
  return Number(other?.leader ?? false) - Number(one?.leader ?? false);
}

/** Whether what a host runs stays when it is retired: other managers of its swarm run on. */
export function isShared({ managers }: Pick<BackendDetails, 'managers'>): boolean {
  return managers.some(({ state }) => state !== 'retiring');
}

const remainingStates: readonly BackendState[] = ['created', 'invited', 'active', 'offline'];

/** Whether an environment has no host that stays, once a backend is retired, alone or with the managers of its swarm. */
export function isLastHost(
  { state, managers }: Pick<BackendDetails, 'state' | 'managers'>,
  counts: Readonly<Record<string, number>>,
): boolean {
  const leaving = [state, ...managers.map((manager) => manager.state)].filter((each) => remainingStates.includes(each));
  return leaving.length >= remainingStates.reduce((sum, each) => sum + (counts[each] ?? 0), 0);
}

/** A step of a retirement, and how far it is. */
export interface RetirementStep {
  name: string;
  tone: Tone;
  word: string;
  /** Why the last try has failed. */
  error: string | null;
}

/** The steps after the host is down, in the words of operators. */
const finishingSteps: Record<string, string> = {
  revokeToken: 'The token of its host is revoked',
  deleteIdentity: 'Its identity in the mesh is deleted',
  destroySecrets: 'The secrets of its environment stay while another host uses them; otherwise you are asked',
};

const ends: readonly BackendDetails['state'][] = ['finishing', 'retired'];

/** Every step of the retirement of a backend. */
export function retirementSteps(
  backend: Pick<BackendDetails, 'state' | 'finished' | 'pending_steps' | 'managers' | 'secrets_destroy_at'>,
): RetirementStep[] {
  const isDown = ends.includes(backend.state);
  const down = isDown ? 'done' : backend.state === 'retiring' ? 'waits' : 'to do';
  const finishing = Object.entries(finishingSteps).map(([step, name]) => {
    const pending = backend.pending_steps.find((each) => each.step === step);
    const isDoomed = step === 'destroySecrets' && backend.secrets_destroy_at !== null;
    const word = backend.finished.includes(step) ? 'done' : pending || isDoomed ? 'waits' : 'to do';
    return stepOf(name, word, pending?.error ?? null);
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
