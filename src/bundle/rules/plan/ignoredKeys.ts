import { printable } from '../../../protocol/printable.ts';
import { entriesOf, textOf, valueAt, type ComposeFile } from '../compose/document/composeNode.ts';

/** What the compose files say and the agent does without: another project name, and what is for developing. */
export function ignoredKeys(files: readonly ComposeFile[], projectName: string): string[] {
  return files.flatMap(({ path, root }) => {
    const name = textOf(valueAt(root, 'name'));
    const services = entriesOf(valueAt(root, 'services')).filter(([, service]) => valueAt(service, 'develop'));
    return [
      ...(name === null || name === projectName ? [] : [`name ${printable(name)} (${printable(path)})`]),
      ...services.map(([service]) => `service ${printable(service)}: develop (${printable(path)})`),
    ];
  });
}
