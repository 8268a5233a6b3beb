import type { Decision } from '../rules/trace/trace.ts';
import { createRedactor } from '../secrets/redaction/redactor.ts';
import { TraceRecorder } from './traceRecorder.ts';

const recorder = (secrets: string[] = []) => new TraceRecorder(() => createRedactor(new Set(secrets)));

describe('the recorder', () => {
  it('records the states of each machine in the order of entry', () => {
    const tick = recorder();
    tick.start();
    for (const [machine, state] of [
      ['tick', 'applying'],
      ['apply', 'pulling'],
      ['apply', 'startingContainers'],
      ['tick', 'releasingLock'],
    ])
      tick.enter({ machine: machine!, state: state!, on: 'x' });
    tick.leave('tick');
    expect(tick.recording().steps.map(({ machine, state }) => `${machine} ${state}`)).toEqual([
      'tick applying',
      'apply pulling',
      'apply startingContainers',
      'tick releasingLock',
    ]);
  });

  it('records each decision with its state, and a state once however many events it handles', () => {
    const tick = recorder();
    tick.enter({ machine: 'tick', state: 'applying', on: 'x' });
    tick.enter({ machine: 'apply', state: 'startingContainers', on: 'x' });
    tick.recordDecision({ word: 'not-reverted' });
    tick.enter({ machine: 'tick', state: 'applying', on: 'STOP' });
    const { steps, decisions } = tick.recording();
    expect([steps.length, decisions]).toMatchObject([2, [{ word: 'not-reverted', state: 'startingContainers' }]]);
  });

  it('clears the previous tick', () => {
    const tick = recorder();
    tick.enter({ machine: 'tick', state: 'a', on: 'x' });
    tick.recordDecision({ word: 'not-reverted' });
    tick.start();
    expect(tick.recording()).toMatchObject({ steps: [], decisions: [] });
  });

  it('replaces text of an unexpected form, and secrets', () => {
    const tick = recorder(['hunter2']);
    const sha = 'a'.repeat(64);
    const decisions: Decision[] = [
      { word: 'call-failed', peer: 'tenancy', error: 'connect ECONNREFUSED 10.0.0.1 with Bearer s.x' },
      { word: 'unhealthy', services: ['web', 'hunter2', 'two words'] },
      { word: 'desired', action: 'apply', desired: sha, applied: 'no digest', reason: 'drift:a b' },
    ];
    for (const decision of decisions) tick.recordDecision(decision);
    expect(tick.recording().decisions).toMatchObject([
      { word: 'call-failed', peer: 'tenancy', error: '?' },
      { word: 'unhealthy', services: ['web', '?', '?'] },
      { word: 'desired', action: 'apply', desired: sha, applied: '?', reason: '?' },
    ]);
  });

  it('is limited in size', () => {
    const tick = recorder();
    for (let n = 0; n < 1000; n++) {
      tick.enter({ machine: 'tick', state: `a${n}`, on: 'x' });
      tick.recordDecision({ word: 'call-failed', peer: 'secretstore', error: 'ECONNRESET' });
    }
    const { steps, decisions } = tick.recording();
    expect([steps.length, decisions.length]).toEqual([200, 200]);
  });
});
