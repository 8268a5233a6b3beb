import type { InspectedContainer } from './health.ts';

/**
 * The containers that kept a release from starting: those that ended with an error since the start, those that the engine could not
 * start, and those that compose's output calls unhealthy. `starts` tells when the containers before it were started.
 */
export function failedAtStart(
  containers: readonly InspectedContainer[],
  { starts, output }: { starts: ReadonlyMap<string, number>; output: string },
): InspectedContainer[] {
  const hasEnded = ({ id, state, exitCode, startedMs }: InspectedContainer) =>
    ['exited', 'dead', 'restarting'].includes(state) && exitCode !== 0 && starts.get(id) !== startedMs;
  const isBlamed = ({ name, health }: InspectedContainer) =>
    health === 'unhealthy' && output.includes(`${name} is unhealthy`);
  return containers.filter((each) => each.startError !== '' || hasEnded(each) || isBlamed(each));
}
