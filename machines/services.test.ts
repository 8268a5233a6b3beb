import { createActor, toPromise } from 'xstate';
import { applyServices, downServices, tickServices } from './services.ts';
import { tick } from './tick.ts';

it.each(Object.entries({ ...tickServices, ...applyServices, ...downServices }))(
  'the service %s fails with its name if no implementation is provided',
  async (name, logic) => {
    const actor = createActor(logic as typeof tickServices.acquireLock);
    const result = toPromise(actor);
    actor.start();
    await expect(result).rejects.toEqual(new Error(`service "${name}" was not provided`));
  },
);

it.each(['logOutcome', 'clearSecrets', 'abortWork'])(
  'the action %s throws its name if no implementation is provided',
  (name) => {
    const action = tick.implementations.actions[name as 'clearSecrets'] as () => void;
    expect(action).toThrow(new Error(`action "${name}" was not provided`));
  },
);
