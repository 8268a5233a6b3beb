import { backend, finishingSteps, newBackend, nextBackend, type BackendEvent, type BackendState } from './backend.ts';
import { graphOf } from './graph.ts';

const retire = (force = false) => ({ type: 'RETIRE', force, purgeVolumes: false }) as const;
const reveal = { type: 'REVEAL_KIT' } as const;
const checkIn = { type: 'CHECK_IN' } as const;
const miss = { type: 'MISS_CHECK_INS' } as const;
const reportDown = { type: 'REPORT_DOWN' } as const;
const skipDown = { type: 'SKIP_DOWN' } as const;
const expire = { type: 'EXPIRE_RETIREMENT' } as const;
const finish = { type: 'FINISH_STEP', step: 'deleteIdentity' } as const;

/** For each state and event the next state; null where the event is not allowed. */
const rows: [event: BackendEvent, name: string, next: Record<BackendState, BackendState | null>][] = [
  [reveal, 'a reveal of the kit', next('invited', 'invited', 'active', 'offline', null, null)],
  [checkIn, 'a check-in', next(null, 'active', 'active', 'active', 'retiring', null)],
  [miss, 'silence', next(null, null, 'offline', null, null, null)],
  [retire(), 'a retirement', next('finishing', 'finishing', 'retiring', null, 'retiring', 'finishing')],
  [
    retire(true),
    'a forced retirement',
    next('finishing', 'finishing', 'retiring', 'retiring', 'finishing', 'finishing'),
  ],
  [reportDown, 'a report of down', next(null, null, null, null, 'finishing', null)],
  [skipDown, 'the end of a down that others need not', next(null, null, null, null, 'finishing', null)],
  [expire, 'the end of the wait for down', next(null, null, null, null, 'finishing', null)],
  [finish, 'a finished step', next(null, null, null, null, null, 'finishing')],
];

describe.each(rows)('%j', (event, name, expected) => {
  it.each(Object.entries(expected))(`${name} leads from %s to %s`, (state, target) => {
    const record = nextBackend({ ...newBackend, state: state as BackendState }, event);
    expect(record?.state ?? null).toBe(target);
  });
});

it('has a row for every event of the machine', () => {
  const events = graphOf(backend).arrows.map(({ on }) => on);
  expect(new Set(rows.map(([{ type }]) => type))).toEqual(new Set(events));
});

it('starts without a revealed kit, without removing volumes and without finished steps', () => {
  expect(newBackend).toEqual({ state: 'created', generation: 0, purgeVolumes: false, finished: [] });
});

it('counts a generation for each reveal, and for no other event', () => {
  const once = nextBackend(newBackend, reveal)!;
  expect(once).toEqual({ ...newBackend, state: 'invited', generation: 1 });
  expect(nextBackend(nextBackend(once, checkIn)!, reveal)).toMatchObject({ state: 'active', generation: 2 });
});

it('is retired after each finishing step has succeeded, in any order and however often', () => {
  const steps = [...finishingSteps, ...finishingSteps].toReversed();
  const states = [];
  let record = nextBackend(newBackend, retire())!;
  for (const step of steps) {
    record = nextBackend(record, { type: 'FINISH_STEP', step }) ?? record;
    states.push(record.state);
  }
  expect(states).toEqual(['finishing', 'finishing', ...Array<string>(4).fill('retired')]);
  expect(record.finished.toSorted()).toEqual(finishingSteps.toSorted());
  const twice = nextBackend(nextBackend({ ...newBackend, state: 'finishing' }, finish)!, finish);
  expect(twice).toMatchObject({ state: 'finishing', finished: ['deleteIdentity'] });
});

it('removes volumes if the latest retirement request says so', () => {
  const retiring = nextBackend({ ...newBackend, state: 'active' }, retire())!;
  const purging = nextBackend(retiring, { ...retire(), purgeVolumes: true })!;
  expect([retiring.purgeVolumes, purging.purgeVolumes]).toEqual([false, true]);
  expect(nextBackend(purging, checkIn)).toEqual(purging);
});

/** The next states from created, invited, active, offline, retiring and finishing; a retired backend allows nothing. */
function next(...states: (BackendState | null)[]): Record<BackendState, BackendState | null> {
  const from = ['created', 'invited', 'active', 'offline', 'retiring', 'finishing', 'retired'] as const;
  return Object.fromEntries(from.map((state, index) => [state, states[index] ?? null])) as Record<
    BackendState,
    BackendState | null
  >;
}
