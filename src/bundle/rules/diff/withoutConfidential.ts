import type { BundleDiff, PartDifference } from './bundleDiff.ts';
import { hiddenValue, type Difference } from './differences.ts';

/** Keys of compose files below which somebody may have written a password into a bundle, where none belongs. */
const confidentialKeys = [
  ...['environment', 'command', 'entrypoint', 'test', 'labels', 'annotations', 'options', 'driver_opts', 'content'],
  ...['post_start', 'pre_start', 'pre_stop', 'credential_spec'],
];
const confidentialKey = new RegExp(String.raw`(^|\.)(${confidentialKeys.join('|')}|x-[^.]*)(\.|$)`);
/** A value that has such a key inside, as items of lists in their long form. */
const confidentialItem = new RegExp(`"(${confidentialKeys.join('|')}|x-[^"]*)":`);
/** A power in its words, from the value on that it tells of such a key. */
const confidentialPower = new RegExp(String.raw`((?:^|[ .])(?:${confidentialKeys.join('|')})(?:\.\S*)?) .*`, 's');

/**
 * The differences for readers who need not see what a bundle may hold by mistake: values of environments, commands, labels,
 * options of drivers and logs, and inline files are not in it. That they differ is told.
 */
export function withoutConfidential(diff: BundleDiff): BundleDiff {
  return {
    ...diff,
    services: diff.services.map(withoutValues),
    resources: diff.resources.map(withoutValues),
    powers: diff.powers.map(({ key, before, after }) => ({ key, before: cut(before), after: cut(after) })),
  };
}

function withoutValues({ keys, ...part }: PartDifference): PartDifference {
  return { ...part, keys: keys.map((each) => (isConfidential(each) ? hidden(each) : each)) };
}

function isConfidential({ key, before, after }: Difference): boolean {
  return confidentialKey.test(key) || [before, after].some((value) => value !== null && confidentialItem.test(value));
}

function hidden({ key, before, after }: Difference): Difference {
  return { key, before: before === null ? null : hiddenValue, after: after === null ? null : hiddenValue };
}

function cut(power: string | null): string | null {
  return power && power.replace(confidentialPower, `$1 ${hiddenValue}`);
}
