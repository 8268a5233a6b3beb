import type { CheckInRequest } from '../../api/checkIn.rules.ts';
import type { HostCopy, HostHistory } from '../store/database.ts';

/** A machine in one of its boots; null for an id that its agent cannot read. */
export type HostPair = Pick<HostCopy, 'machine' | 'boot'>;

/** The sender of a check-in. */
interface Sighting {
  host: CheckInRequest['host'];
  address: string | null;
  /** Generation of its token. */
  generation: number;
  now: number;
}

/** The stored facts about the hosts of a backend. */
export interface KnownHosts {
  /** Null before the first check-in with a machine or a boot. */
  history: HostHistory | null;
  /** Since when two hosts alternate and nobody has accepted one of them; null if there is no such conflict. */
  clonedAt: number | null;
  /** Time of the last accepted check-in. */
  seenAt: number | null;
  /** All hosts that were not refused may take their services down; the retirement has ended a conflict. */
  isRetiring: boolean;
}

/** The verdict on the sender of a check-in, with the facts to store. */
export interface HostVerdict {
  isAccepted: boolean;
  /** The same object if nothing changes. */
  history: HostHistory | null;
  clonedAt: number | null;
  /** `rebooted`, `moved`: the host has changed once, which is only announced. `cloned`: two hosts alternate. */
  event: 'rebooted' | 'moved' | 'cloned' | null;
}

/** Copies that are remembered for a backend. */
const MAX_COPIES = 12;
const MAX_NAME = 253;

/**
 * Decides whether the sender of a check-in may act for its backend. A pair of machine and boot that replaces another is
 * a change. A pair that returns after it was replaced runs at the same time as the one that replaced it: two hosts use
 * one token. Both are refused until an operator accepts one. Later boots of a refused copy are refused too if its
 * machine or its name differ from the accepted one's.
 */
export function judgeHost(known: KnownHosts, sighting: Sighting): HostVerdict {
  const { history, clonedAt, isRetiring } = known;
  const pair = pairOf(sighting.host);
  const unchanged = { isAccepted: clonedAt === null, history, clonedAt, event: null };
  if (pair === null) return unchanged;
  // Only the host that has got the newest kit has a token of a new generation.
  if (history === null || sighting.generation > history.generation) return beginHistory(known, pair, sighting);
  const found = findCopy(history, pair);
  if (found?.role === 'refused') return refuse(known, seen(history, found, pair, sighting));
  if (clonedAt !== null) return contend(known, { history, found, pair }, sighting);
  if (found?.role === 'accepted') return accepted(known, learn(history, found, pair));
  if (found === null && resembles(history, pair, sighting))
    return refuse(known, add(history, copyOf(pair, sighting, 'refused')));
  if (found !== null && !found.named && !isRetiring) {
    const copies = seen(leave(history, known), found, pair, sighting);
    return { ...refuse(known, contending(copies, found)), clonedAt: sighting.now, event: 'cloned' };
  }
  return replace(known, { history, found, pair }, sighting);
}

/** The machine and the boot of a host; null for an agent that reports neither. */
function pairOf(host: CheckInRequest['host']): HostPair | null {
  const { machine, boot } = { machine: host.machine ?? null, boot: host.boot ?? null };
  return machine === null && boot === null ? null : { machine, boot };
}

/** True if two pairs can be of the same host in the same boot; an unknown id equals any. */
export function isSamePair(one: HostPair, other: HostPair): boolean {
  const [machine, boot] = [isSameId(one.machine, other.machine), isSameId(one.boot, other.boot)];
  return machine !== false && boot !== false && (machine === true || boot === true);
}

/** Null if one of the ids is unknown. */
function isSameId(one: string | null, other: string | null): boolean | null {
  return one === null || other === null ? null : one === other;
}

interface Found {
  history: HostHistory;
  found: HostCopy | null;
  pair: HostPair;
}

const roles: readonly HostCopy['role'][] = ['accepted', 'contending', 'refused', 'superseded'];

function findCopy({ copies }: HostHistory, pair: HostPair): HostCopy | null {
  const matching = copies.filter((copy) => isSamePair(copy, pair));
  return matching.toSorted((one, other) => roles.indexOf(one.role) - roles.indexOf(other.role))[0] ?? null;
}

function copyOf(pair: HostPair, { host, address, now }: Sighting, role: HostCopy['role']): HostCopy {
  return { ...pair, name: host.name.slice(0, MAX_NAME), address, first_seen_at: now, last_seen_at: now, role };
}

function accepted({ clonedAt }: KnownHosts, history: HostHistory): HostVerdict {
  return { isAccepted: true, history, clonedAt, event: null };
}

function refuse({ clonedAt }: KnownHosts, history: HostHistory): HostVerdict {
  return { isAccepted: false, history, clonedAt, event: null };
}

function beginHistory({ history }: KnownHosts, pair: HostPair, sighting: Sighting): HostVerdict {
  const { generation } = sighting;
  const before = history?.copies.find(({ role }) => role === 'accepted') ?? null;
  const event = before === null || isSamePair(before, pair) ? null : changeOf(before, pair);
  const copies = [copyOf(pair, sighting, 'accepted')];
  return { isAccepted: true, history: { generation, copies }, clonedAt: null, event };
}

function changeOf(before: HostPair, pair: HostPair): 'rebooted' | 'moved' {
  return isSameId(before.machine, pair.machine) === false ? 'moved' : 'rebooted';
}

/** In a conflict every host is refused; a later boot of one of them could be either's. */
function contend(known: KnownHosts, { history, found, pair }: Found, sighting: Sighting): HostVerdict {
  if (found === null) return refuse(known, add(history, copyOf(pair, sighting, 'contending')));
  return refuse(known, contending(seen(history, found, pair, sighting), found));
}

/** A new boot or machine takes the place of the accepted one; so does the pair that an operator has accepted. */
function replace(known: KnownHosts, { history, found, pair }: Found, sighting: Sighting): HostVerdict {
  const before = history.copies.find(({ role }) => role === 'accepted') ?? null;
  const left = leave(history, known, found?.named === true ? 'refused' : 'superseded');
  const next =
    found === null
      ? add(left, copyOf(pair, sighting, 'accepted'))
      : withRole(seen(left, found, pair, sighting), (copy) => isSamePair(copy, found), 'accepted');
  return { ...accepted(known, next), event: before === null ? null : changeOf(before, pair) };
}

/** The accepted copy loses its role; its last check-in is known from its backend. */
function leave(
  { generation, copies }: HostHistory,
  { seenAt }: KnownHosts,
  role: HostCopy['role'] = 'contending',
): HostHistory {
  const left = copies.map((copy) =>
    copy.role === 'accepted' ? { ...copy, role, last_seen_at: seenAt ?? copy.last_seen_at } : copy,
  );
  return { generation, copies: left };
}

function contending(history: HostHistory, found: HostPair): HostHistory {
  return withRole(history, (copy) => isSamePair(copy, found), 'contending');
}

function withRole(
  { generation, copies }: HostHistory,
  isMeant: (copy: HostCopy) => boolean,
  role: HostCopy['role'],
): HostHistory {
  return { generation, copies: copies.map((copy) => (isMeant(copy) ? { ...copy, role } : copy)) };
}

/** Updates the name, the address and the time of a copy. */
function seen(history: HostHistory, found: HostCopy, pair: HostPair, sighting: Sighting): HostHistory {
  const { name, address, last_seen_at } = copyOf(pair, sighting, found.role);
  const changed = { ...found, ...idsOf(found, pair), name, address, last_seen_at };
  return { ...history, copies: history.copies.map((copy) => (copy === found ? changed : copy)) };
}

/** The same history unless the pair has an id that was unknown. */
function learn(history: HostHistory, found: HostCopy, pair: HostPair): HostHistory {
  const ids = idsOf(found, pair);
  if (ids.machine === found.machine && ids.boot === found.boot) return history;
  return { ...history, copies: history.copies.map((copy) => (copy === found ? { ...copy, ...ids } : copy)) };
}

function idsOf(found: HostPair, { machine, boot }: HostPair): HostPair {
  return { machine: found.machine ?? machine, boot: found.boot ?? boot };
}

/** True for an unknown boot of a refused copy: by its machine or its name, if the accepted one has another. */
function resembles({ copies }: HostHistory, pair: HostPair, { host }: Sighting): boolean {
  const current = copies.find(({ role }) => role === 'accepted');
  if (current === undefined) return false;
  return copies.some(({ role, machine, name }) => {
    if (role !== 'refused') return false;
    const isSameMachine = isSameId(machine, pair.machine);
    if (isSameMachine === true && isSameId(current.machine, pair.machine) === false) return true;
    return isSameMachine !== false && name === host.name && current.name !== host.name;
  });
}

/** Adds a copy, and discards others: first superseded ones, then refused ones, the oldest first. */
function add({ generation, copies }: HostHistory, copy: HostCopy): HostHistory {
  if (copies.length < MAX_COPIES) return { generation, copies: [...copies, copy] };
  const order = ['superseded', 'refused', 'contending', 'accepted'];
  const rank = ({ role, named }: HostCopy) => (named ? order.length : order.indexOf(role));
  const [oldest] = copies.toSorted((one, other) => rank(one) - rank(other) || one.last_seen_at - other.last_seen_at);
  return { generation, copies: [...copies.filter((each) => each !== oldest), copy] };
}

/**
 * Accepts one host, as an operator has decided; the others that run are refused. Null if there is no such host, or
 * nothing to decide.
 */
export function acceptHost(history: HostHistory | null, pair: HostPair): HostHistory | null {
  const { generation, copies } = history ?? { generation: 0, copies: [] };
  const isMeant = (copy: HostPair) => copy.machine === pair.machine && copy.boot === pair.boot;
  const isContested = copies.some(({ role }) => role === 'contending' || role === 'refused');
  if (!isContested || !copies.some(isMeant)) return null;
  const decided = copies.map(({ named: _, ...copy }): HostCopy => {
    if (isMeant(copy)) return { ...copy, role: 'accepted', named: true };
    return copy.role === 'superseded' ? copy : { ...copy, role: 'refused' };
  });
  return { generation, copies: decided };
}

/** The message with which a host is refused. */
export function refusalText({ history, clonedAt }: Pick<HostVerdict, 'history' | 'clonedAt'>, id: string): string {
  if (clonedAt === null)
    return `an operator accepted another host for backend ${id}; this copy of it is refused: remove deployd here, or create a separate backend for this host and install its kit`;
  const hosts = history?.copies.filter(({ role }) => role === 'contending') ?? [];
  const names = hosts.map(({ name, boot }) => `${name}${boot === null ? '' : ` (boot ${boot.slice(0, 8)})`}`);
  return `${hosts.length} hosts check in with the token of backend ${id}: ${names.join(', ')}; an operator must accept one: deployctl host accept ${id}`;
}
