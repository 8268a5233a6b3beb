import { setFlagsFromString } from 'node:v8';

/**
 * V8 has helpers compile what runs often, and share the work of collecting garbage. A tick that finds all well is over before
 * that pays, so they rest for the first second; from then on they are there for an apply or a loop. To be called before the
 * program runs and after its code cache was taken, which would be refused under these flags.
 */
export function restHelpers(): void {
  for (const name of beginning) process.getBuiltinModule(name);
  for (const helper of helpers) setFlagsFromString(`--no-${helper}`);
  const wake = () => helpers.forEach((helper) => setFlagsFromString(`--${helper}`));
  setTimeout(wake, 1000).unref();
}

/** What the agent begins with: loaded later, these would find no code cache that fits. */
const beginning = ['node:http', 'node:https', 'node:os', 'node:process', 'node:sqlite'];

const helpers = ['sparkplug', 'maglev', 'turbofan', 'parallel-scavenge'];
