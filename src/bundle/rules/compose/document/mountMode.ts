import { valueAt, textOf, type ComposeNode } from './composeNode.ts';

/** Whether a mount, in its short or long form, is read-only. */
export function isReadOnlyMount(mount: ComposeNode): boolean {
  const short = textOf(mount);
  if (short !== null) return hasReadOnlyMode(short.split(':')[2]);
  return /^(true|yes|on|y)$/i.test(textOf(valueAt(mount, 'read_only')) ?? '');
}

/** Whether a mount takes its mode from a variable, so that only the rendered model shows it. */
export function hasVariableMode(mount: ComposeNode): boolean {
  return textOf(valueAt(mount, 'read_only'))?.includes('$') === true;
}

/** Whether the modes of a short mount (`ro,z`) make it read-only. */
export function hasReadOnlyMode(modes = ''): boolean {
  const all = modes.split(',');
  return all.includes('ro') && !all.includes('rw');
}
