import { createHash } from 'node:crypto';
import { readFile, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { offlineFault, stoppedFault } from '../../../machines/fault.ts';
import type { ObservedState } from '../../../machines/types.ts';
import type { CheckInRequest } from '../../api/checkIn.rules.ts';
import { defaultPolicy } from '../../api/hostPolicy.rules.ts';
import { findOrphanedResources, type PurgeDependencies } from '../release/down.ts';
import { emptyState, type State } from '../state/state.rules.ts';
import { checkIn, type CheckInDependencies, whileCheckingIn } from './checkIn.ts';
import { writeHold } from './hold.ts';
import type { CheckInResponse } from '../../api/answers.rules.ts';

const never = new AbortController().signal;
const sha = 'a'.repeat(64);
const observed: ObservedState = {
  engineAvailable: true,
  engineFault: null,
  healthy: true,
  leader: null,
  swarm: null,
  attemptInProgress: true,
  unhealthyServices: [],
  problems: [],
  containers: [],
};
const response: CheckInResponse = {
  ...{ action: 'none', env: 'eu-1', backendId: 'b-1', production: false },
  ...{ desiredSha: sha, sizeBytes: 0, purgeVolumes: false, emergency: false },
};

const unheld = { grantRefusal: null, hold: null };

/** A host on which a failed attempt created a volume and a network; `responses` answer its check-ins. */
type HostDependencies = CheckInDependencies & PurgeDependencies;

function depsWith(...responses: Partial<CheckInResponse>[]): HostDependencies {
  const trust = { bundles: null, images: null };
  const own = { apply: { windows: [], emergency: false }, trust, state_dir: tempDir() };
  const baseline = { sha, volumes: ['data'], networks: ['default'] };
  const state = { state: { ...emptyState('eu-1'), production_unknown: false, baseline } as State };
  const update = async (patch: Partial<State>) => void Object.assign(state.state, patch);
  return {
    settings: { env: 'eu-1', site: 'fra', production: false, interval_s: 60, policy: defaultPolicy, ...own },
    state: { ...state, update },
    tenancy: { checkIn: async () => ({ ...response, ...responses.shift() }) },
    vault: { candidate: () => null },
    releases: { list: async () => [] },
    containers: {
      ownedResources: async () => ({ volumes: ['data', 'orphan'], networks: ['default', 'orphan'] }),
      list: async () => [],
      resourceUsers: async () => [],
    },
    recordDecision: () => undefined,
    tick: { journal: { info: () => undefined } },
  } as unknown as HostDependencies;
}

it('sends the policy of this host to the tenancy service', async () => {
  const limits = { bundle_bytes: 1, unpacked_bytes: 2, bundle_entries: 3 };
  const deps = depsWith();
  const bodies: CheckInRequest[] = [];
  const send: CheckInDependencies['tenancy']['checkIn'] = async (body) => {
    bodies.push(body);
    return response;
  };
  const policy = { ...defaultPolicy, permit: { binds: ['/srv/**'] } };
  for (const own of [defaultPolicy, policy]) {
    const settings = { ...deps.settings, limits, policy: own };
    await checkIn({ ...deps, settings, tenancy: { ...deps.tenancy, checkIn: send } }, { observed, ...unheld }, never);
  }
  expect(bodies.map((body) => body.policy)).toEqual([{ limits }, { limits, ...policy }]);
});

it('sends the machine and the boot of this host', async () => {
  const deps = depsWith();
  const bodies: CheckInRequest[] = [];
  const send: CheckInDependencies['tenancy']['checkIn'] = async (body) => (bodies.push(body), response);
  const tenancy = { ...deps.tenancy, checkIn: send };
  await checkIn({ ...deps, tenancy }, { observed, ...unheld }, never);
  const { machine, boot } = bodies[0]!.host;
  expect(boot).toBe((await readFile('/proc/sys/kernel/random/boot_id', 'utf8')).trim());
  const id = await readFile('/etc/machine-id', 'utf8').catch(() => '');
  const digest = createHash('sha256').update(`deployd:${id.trim()}`).digest('hex');
  expect(machine).toBe(id.trim() === '' ? undefined : digest);
});

describe('under a hold', () => {
  const told = { until: '2100-01-01T00:00:00.000Z', since: '2026-11-26T11:00:00.000Z', by: 'kim', reason: 'disk swap' };
  const hold = { ...told, isDamaged: false };

  it('reports it, and defers the desired state', async () => {
    const deps = depsWith();
    const bodies: CheckInRequest[] = [];
    const tenancy = {
      ...deps.tenancy,
      checkIn: async (body: CheckInRequest) => (bodies.push(body), { ...response, action: 'down' as const }),
    };
    const desired = await checkIn({ ...deps, tenancy }, { observed, ...unheld, hold }, never);
    expect(desired.deferral?.ending).toBe('held');
    expect(bodies).toMatchObject([{ hold: told }]);
    expect(bodies[0]).not.toHaveProperty('window_opens_at');
  });

  it('counts a hold that was set under a clock in the future from the first successful check-in', async () => {
    const deps = depsWith();
    const { state_dir } = deps.settings;
    await writeHold(state_dir, hold);
    const future = new Date('2100-01-01T00:00:00.000Z');
    await utimes(join(state_dir, 'hold.json'), future, future);
    const modifiedMs = async () => (await stat(join(state_dir, 'hold.json'))).mtimeMs;
    const offline = { ...deps.tenancy, checkIn: () => Promise.reject(new Error('unreachable')) };
    await expect(checkIn({ ...deps, tenancy: offline }, { observed, ...unheld }, never)).rejects.toThrow();
    expect(await modifiedMs()).toBe(future.getTime());
    await checkIn(deps, { observed, ...unheld }, never);
    expect(await modifiedMs()).toBeLessThanOrEqual(Date.now());
  });
});

describe('the production flag of a check-in', () => {
  it('protects the volumes of a failed attempt from then on (spec §12.11)', async () => {
    const deps = depsWith({ production: true }, {});
    for (let tick = 0; tick < 2; tick++) {
      await checkIn(deps, { observed, ...unheld }, never);
      expect(await findOrphanedResources(deps, deps.state.state, false)).toEqual({ volumes: [], networks: ['orphan'] });
    }
  });

  it('does not decide whether an unknown environment is production', async () => {
    const deps = depsWith({});
    await deps.state.update({ production_unknown: true });
    expect(await checkIn(deps, { observed, ...unheld }, never)).toMatchObject({ production: false });
    expect(deps.state.state).toMatchObject({ production: false, production_unknown: true });
    expect(await findOrphanedResources(deps, deps.state.state, false)).toMatchObject({ volumes: [] });
  });

  it('allows removal of volumes of a failed attempt if the environment never was production', async () => {
    const deps = depsWith({});
    await checkIn(deps, { observed, ...unheld }, never);
    expect(await findOrphanedResources(deps, deps.state.state, false)).toEqual({
      volumes: ['orphan'],
      networks: ['orphan'],
    });
  });
});

describe('a wait', () => {
  const purpose = { work: 'apply' as const, wanted: sha, hold: null };
  const waiting = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(stoppedFault())));

  /** Check-ins every 10 ms, answered by these in turn; an error is thrown. */
  function depsInWait(...answers: (Partial<CheckInResponse> | Error)[]) {
    const deps = depsWith();
    const bodies: CheckInRequest[] = [];
    const send: CheckInDependencies['tenancy']['checkIn'] = async (body) => {
      bodies.push(body);
      const answer = answers.shift() ?? {};
      if (answer instanceof Error) throw answer;
      return { ...response, action: 'apply', ...answer };
    };
    const settings = { ...deps.settings, interval_s: 0.01, limits: {} };
    const vault = { candidate: () => null, hasToken: () => true };
    const orchestrator = { observe: async () => ({ containers: [], problems: [] }) };
    const tick = { journal: { debug: () => undefined } };
    const parts = { settings, tenancy: { checkIn: send }, vault, orchestrator, tick };
    return { deps: { ...deps, ...parts } as unknown as HostDependencies, bodies };
  }

  it('continues through check-ins that fail or announce the same bundle, and reports the host as unhealthy', async () => {
    const { deps, bodies } = depsInWait(offlineFault('away'), {});
    const three = new Promise<string>((resolve) => {
      const timer = setInterval(() => {
        if (bodies.length < 3) return;
        clearInterval(timer);
        resolve('done');
      }, 5);
    });
    expect(await whileCheckingIn(deps, purpose, never, () => three)).toBe('done');
    expect(bodies.map(({ healthy }) => healthy)).toEqual(bodies.map(() => false));
  });

  it.each<[string, Partial<CheckInResponse>, string]>([
    [
      'a newer bundle',
      { desiredSha: 'b'.repeat(64) },
      `superseded: ${'b'.repeat(64)} is announced; the next tick does that`,
    ],
    ['a down', { action: 'down', desiredSha: null }, 'superseded: a down is announced; the next tick does that'],
  ])('is ended by %s', async (_, answer, line) => {
    const { deps } = depsInWait({}, answer);
    await expect(whileCheckingIn(deps, purpose, never, waiting)).rejects.toMatchObject({
      ending: 'superseded',
      message: line,
    });
  });

  it('ends as stopped, and sends no further check-in', async () => {
    const { deps, bodies } = depsInWait();
    const stop = new AbortController();
    const ended = whileCheckingIn(deps, purpose, stop.signal, waiting);
    stop.abort();
    await expect(ended).rejects.toMatchObject({ ending: 'stopped' });
    expect(bodies).toEqual([]);
  });
});
