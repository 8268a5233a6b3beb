import type { Decision } from '../rules/trace/trace.ts';
import { createRedactor } from '../secrets/redact.ts';
import { Recorder } from './recorder.ts';

const recorder = (secrets: string[] = []) => new Recorder(() => createRedactor(new Set(secrets)));

describe('the recorder', () => {
  it('keeps the states of each machine in the order of their entry', () => {
    const tick = recorder();
    tick.begin();
    for (const [machine, state] of [
      ['tick', 'applying'],
      ['apply', 'pulling'],
      ['apply', 'starting'],
      ['tick', 'closing'],
    ])
      tick.enter({ machine: machine!, state: state!, on: 'x' });
    tick.leave('tick');
    expect(tick.recording().steps.map(({ machine, state }) => `${machine} ${state}`)).toEqual([
      'tick applying',
      'apply pulling',
      'apply starting',
      'tick closing',
    ]);
  });

  it('keeps each decision with the state in which it fell, and a state once however often it is heard in', () => {
    const tick = recorder();
    tick.enter({ machine: 'tick', state: 'applying', on: 'x' });
    tick.enter({ machine: 'apply', state: 'starting', on: 'x' });
    tick.note({ word: 'left' });
    tick.enter({ machine: 'tick', state: 'applying', on: 'STOP' });
    const { steps, decisions } = tick.recording();
    expect([steps.length, decisions]).toMatchObject([2, [{ word: 'left', state: 'starting' }]]);
  });

  it('forgets the tick before', () => {
    const tick = recorder();
    tick.enter({ machine: 'tick', state: 'a', on: 'x' });
    tick.note({ word: 'left' });
    tick.begin();
    expect(tick.recording()).toMatchObject({ steps: [], decisions: [] });
  });

  it('lets no text in that is not what it should be, nor one that the vault knows', () => {
    const tick = recorder(['hunter2']);
    const sha = 'a'.repeat(64);
    const notes: Decision[] = [
      { word: 'troubled', peer: 'tenancy', error: 'connect ECONNREFUSED 10.0.0.1 with Bearer s.x' },
      { word: 'ailing', services: ['web', 'hunter2', 'two words'] },
      { word: 'ordered', action: 'apply', desired: sha, applied: 'no digest', reason: 'drift:a b' },
    ];
    for (const note of notes) tick.note(note);
    expect(tick.recording().decisions).toMatchObject([
      { word: 'troubled', peer: 'tenancy', error: '?' },
      { word: 'ailing', services: ['web', '?', '?'] },
      { word: 'ordered', action: 'apply', desired: sha, applied: '?', reason: '?' },
    ]);
  });

  it('stays small whatever happens', () => {
    const tick = recorder();
    for (let n = 0; n < 1000; n++) {
      tick.enter({ machine: 'tick', state: `a${n}`, on: 'x' });
      tick.note({ word: 'troubled', peer: 'secretstore', error: 'ECONNRESET' });
    }
    const { steps, decisions } = tick.recording();
    expect([steps.length, decisions.length]).toEqual([200, 200]);
  });
});
