import { setTimeout as sleep } from 'node:timers/promises';
import { failure, Fault, stopped } from '../../machines/fault.ts';
import type { ComposeRelease, Pull } from '../adapters/compose.ts';
import { OVERRIDE_FILE } from '../adapters/releases.ts';
import { parseEnvFile } from '../rules/envFile.ts';
import { ailingServices, describeAiling, renewal, wellnessOf, type Inspected } from '../rules/health.ts';
import type { Written } from '../rules/written.ts';
import type { Tools } from './tools.ts';

/** Between two looks at the containers: a tenth of what was waited so far, within these, and no longer than one must settle. */
const [shortestPauseMs, longestPauseMs] = [100, 500];
const TAIL_CHARS = 8 * 1024;

/** A release on disk as compose takes it: its real path, its files and the override with the content labels. */
export async function composeReleaseOf({ releases }: Tools, sha: string): Promise<ComposeRelease> {
  const record = await releases.readRecord(sha);
  if (record === null)
    throw new Fault('failed', `failed: release ${sha} is incomplete`, { code: 'RELEASE_INCOMPLETE' });
  return { dir: releases.pathOf(sha), files: [...record.compose, OVERRIDE_FILE] };
}

/** compose up of a release, from local images unless missing ones may be pulled; half-made containers go first. */
export async function bringUp(
  tools: Tools,
  { sha, pull }: { sha: string; pull: Pull },
  signal: AbortSignal,
): Promise<void> {
  const { compose, containers, tick } = tools;
  const release = await composeReleaseOf(tools, sha);
  tick.well = null;
  const before = await containers.list();
  for (const { id } of before.filter(isHalfMade)) await containers.removeContainer(id);
  tick.broughtUpMs = Date.now();
  await compose.up(release, pull, signal).catch((error: unknown) => blameEngine(tools, error));
  const after = await containers.list().catch(() => null);
  if (after !== null) tools.note({ word: 'started', ...renewal(before, after) });
}

/** What a compose left that was killed: not started yet, or under the passing name that it would want to give again. */
function isHalfMade({ name, state }: Inspected): boolean {
  return state === 'created' || /^[0-9a-f]{12}_/.test(name);
}

/** A failure of compose that a silent engine explains is the engine's. */
export async function blameEngine({ containers }: Tools, error: unknown): Promise<never> {
  if (error instanceof Fault && error.ending === 'failed' && !(await containers.answers()))
    throw failure('RUNTIME_UNAVAILABLE', `the container engine does not answer: ${error.message}`);
  throw error;
}

/** Waits until every container of the release is well (spec §12). Throws UNHEALTHY with what the sick ones wrote. */
export async function awaitWell(tools: Tools, sha: string, signal: AbortSignal): Promise<void> {
  const { containers, releases, settings, tick } = tools;
  const expected = (await releases.readRecord(sha))?.services ?? [];
  const began = Date.now();
  const settling = new Map<string, number>();
  for (;;) {
    const seen = await containers.list();
    const lastStartMs = Math.max(tick.broughtUpMs, ...startsOf(seen));
    const unsettled = seen.map((container) => unsettledMs({ settling, lastStartMs }, container, settings.settle_s));
    const states = seen.map((container, index) => wellnessOf(container, unsettled[index] === 0));
    const done = states.filter((state) => state === 'well').length;
    tick.howFar = () => ({ done, total: states.length, unit: 'containers' });
    if (ailingServices(seen, expected).length === 0 && done === states.length) {
      tick.well = seen.map((container) => ({ ...container, healthLog: [] }));
      return;
    }
    const late = Date.now() - began > settings.health_timeout_s * 1000;
    if (late || states.includes('lost')) throw await notHealthy(tools, seen, { expected, began });
    const patience = Math.min(Math.max((Date.now() - began) / 10, shortestPauseMs), longestPauseMs);
    await pause(Math.min(patience, ...unsettled.filter((ms) => ms > 0)), signal);
  }
}

/** The containers of the project's services; those that were just found well are not looked at again. */
export async function containersNow({ containers, tick }: Tools): Promise<Inspected[]> {
  return tick.well ?? containers.list();
}

/** Makes the values of a release's `.env` known to the redactor before its compose output is heard. */
export async function guardEnv({ releases, vault }: Tools, sha: string): Promise<boolean> {
  const text = await releases.readEnv(sha);
  if (text === null) return false;
  for (const [name, value] of parseEnvFile(text)) if (!name.startsWith('DEPLOYD_')) vault.guard(value);
  return true;
}

/** What the settling of containers is counted from. */
interface Since {
  /** When each was first seen to run, by id and start. */
  settling: Map<string, number>;
  /** When the last of them was started, or compose was told to; those that ran before may yet fall over it. */
  lastStartMs: number;
}

/**
 * Milliseconds until it has run for the settle time since the last start of them all, as the engine tells it; where that is
 * yet to come, as clocks are set back, since it was first seen to run.
 */
function unsettledMs({ settling, lastStartMs }: Since, container: Inspected, settleS: number): number {
  const now = Date.now();
  if (container.state !== 'running') return settleS * 1000;
  const start = `${container.id} ${container.startedMs}`;
  const seen = settling.get(start) ?? now;
  settling.set(start, seen);
  return Math.max(0, Math.min(seen, lastStartMs) + settleS * 1000 - now);
}

function startsOf(containers: Inspected[]): number[] {
  return containers.filter(({ state }) => state === 'running').map(({ startedMs }) => startedMs || 0);
}

async function notHealthy(
  { containers, note, vault }: Tools,
  seen: Inspected[],
  { expected, began }: { expected: { name: string; replicas: number }[]; began: number },
): Promise<Fault> {
  const ailing = ailingServices(seen, expected);
  note({ word: 'ailing', services: ailing });
  const seconds = Math.round((Date.now() - began) / 1000);
  const parts: string[] = [];
  const redactor = vault.redactor();
  const shown = ({ text, cut }: Written) => (cut ? `${redactor.redactHead(text)}...` : text);
  for (const container of seen.filter(({ service }) => ailing.includes(service))) {
    const logs = await containers.logs(container.id).catch(() => []);
    const probes = container.healthLog.map((output) => `health: ${shown(output)}`);
    parts.push(`--- ${container.name}`, ...logs.map(shown), ...new Set(probes));
  }
  const tail = redactor.redact(parts.map((part) => part.trim()).join('\n')).slice(-TAIL_CHARS);
  const line = `failed: containers not healthy after ${seconds}s: ${describeAiling(seen, ailing)}`;
  return new Fault('failed', line, { code: 'UNHEALTHY', tail });
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {
    throw stopped();
  });
}
