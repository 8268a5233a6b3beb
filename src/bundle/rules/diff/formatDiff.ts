import { formatRows } from '../plan/formatRows.ts';
import type { BundleDiff, PartDifference } from './bundleDiff.ts';
import type { Difference } from './differences.ts';

/** Characters of a key or value that are shown. */
const maxCharacters = 200;

/** The differences of two bundles as text: what they come to, then one aligned row for each kind. */
export function formatDiff(diff: BundleDiff): string {
  const { before, after, services, resources, images, powers } = diff;
  return formatRows(
    [headline(diff)],
    [
      ['before', labelLines(before)],
      ['after', labelLines(after)],
      ['powers', powers.map((power) => signed(power, sideShown(power)))],
      ['manifest', diff.manifest.map(formatDifference)],
      ['services', services.flatMap(formatPart)],
      ['resources', resources.flatMap(formatPart)],
      ['images', images.map((image) => signed(image, sideShown(image)))],
      ['variables', diff.variables.map(formatDifference)],
      ['secrets', diff.secrets.map(formatDifference)],
      ['files', diff.files.map((file) => signed(file, visible(file.key)))],
    ],
  );
}

function headline({ before, after, same_content }: BundleDiff): string {
  if (!same_content) return 'the bundles differ';
  const isPackedAlike = before.sha === null || after.sha === null || before.sha === after.sha;
  return isPackedAlike ? 'nothing differs' : 'the same files, packed in another way';
}

function labelLines({ name, version, sequence, env, sha }: BundleDiff['before']): string[] {
  return [`${visible(name)} ${visible(version)}, sequence ${sequence}, for env ${env}`, ...(sha === null ? [] : [sha])];
}

function formatPart({ name, change, keys }: PartDifference): string[] {
  const sign = { added: '+', removed: '-', changed: '~' }[change];
  // what a removed service was is of no more interest
  const lines = change === 'removed' ? [] : keys.map((key) => `    ${formatDifference(key)}`);
  return [`${sign} ${visible(name)}`, ...lines];
}

function formatDifference(difference: Difference): string {
  const { key, before, after } = difference;
  const isTold = before !== null && after !== null && before !== after;
  const value = isTold ? `${visible(before)} → ${visible(after)}` : sideShown(difference);
  return signed(difference, `${visible(key)}: ${value}`);
}

function signed({ before, after }: Difference, text: string): string {
  if (before === null) return `+ ${text}`;
  return after === null ? `- ${text}` : `~ ${text}`;
}

function sideShown({ before, after }: Difference): string {
  return visible(after ?? before ?? '');
}

/** Text of a bundle on one line, without characters that move the cursor or reorder what is shown. */
function visible(text: string): string {
  const safe = text.replace(/[\p{C}\u2028\u2029]/gu, '\ufffd');
  return safe.length > maxCharacters ? `${safe.slice(0, maxCharacters)}… (${safe.length} characters)` : safe;
}
