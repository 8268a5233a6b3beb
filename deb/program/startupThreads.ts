import { setFlagsFromString } from 'node:v8';

/**
 * Disables V8's optimising compilers and parallel garbage collection for the first second. A converged tick ends before they
 * pay off; an apply or a loop uses them afterwards. Call it before the program runs and after V8 accepted the code cache,
 * which it would reject under these flags.
 */
export function deferHelperThreads(): void {
  for (const name of startupModules) process.getBuiltinModule(name);
  for (const helper of helperThreads) setFlagsFromString(`--no-${helper}`);
  const enable = () => helperThreads.forEach((helper) => setFlagsFromString(`--${helper}`));
  setTimeout(enable, 1000).unref();
}

/** Built-in modules that the agent loads at start: loaded under these flags, their own code cache would be rejected. */
const startupModules = ['node:http', 'node:https', 'node:os', 'node:process', 'node:sqlite'];

const helperThreads = ['sparkplug', 'maglev', 'turbofan', 'parallel-scavenge'];
