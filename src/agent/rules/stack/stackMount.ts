import { objectOf, textOf, type ModelObject } from '../createdContainers/renderedModel.ts';
import { inertText } from './inertText.ts';

/** A mount as a stack has it. Compose adds `create_host_path` by itself; a swarm creates no path on its nodes. */
export function stackMountOf({ source, target, bind, tmpfs, ...mount }: ModelObject): ModelObject {
  const options = Object.entries(objectOf(bind)).filter(([key]) => key !== 'create_host_path');
  const { size } = objectOf(tmpfs);
  return {
    ...mount,
    ...(source !== undefined && { source: inertText(source) }),
    target: inertText(target),
    ...(options.length > 0 && { bind: Object.fromEntries(options) }),
    ...(size !== undefined && { tmpfs: { size: Number(textOf(size)) } }),
  };
}
