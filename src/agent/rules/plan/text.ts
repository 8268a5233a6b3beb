import { refused } from '../../../../machines/fault.ts';
import { gibibytes } from '../release/disk.ts';
import type { Plan } from './plan.ts';
import type { Change } from './changes.ts';

/** The plan for people: first the lines with which a tick would refuse, then one aligned row for each fact. */
export function planText(plan: Plan): string {
  const rows = rowsOf(plan).filter(([, values]) => values.length > 0);
  const width = Math.max(...rows.map(([label]) => label.length));
  const lines = rows.flatMap(([label, values]) =>
    values.map((value, index) => `  ${(index === 0 ? label : '').padEnd(width)}  ${value}`),
  );
  return [...headlines(plan), ...lines].map(printable).join('\n');
}

function headlines({ refusals }: Plan): string[] {
  return refusals.length === 0 ? ['nothing is refused'] : refused(refusals).lines;
}

function rowsOf({ bundle, sha, disk, services, volumes, images, not_judged }: Plan): [string, string[]][] {
  const named = bundle && `${bundle.name} ${bundle.version}, sequence ${bundle.sequence}, for env ${bundle.env}`;
  return [
    ['bundle', [...(named === null ? [] : [named]), ...(sha === null ? [] : [sha])]],
    ['disk', disk.map(roomText)],
    ['services', changesText(services)],
    ['volumes', changesText(volumes)],
    ['images', changesText(images)],
    ['not judged', not_judged.map(({ codes, why }) => `${codes.join(', ')}: ${why}`)],
  ];
}

function roomText({ paths, free_bytes, needed_bytes }: Plan['disk'][number]): string {
  const free = free_bytes === null ? 'nobody can tell how much is' : gibibytes(free_bytes, Math.floor);
  return `${paths.join(', ')}: needs ${gibibytes(needed_bytes, Math.ceil)}, ${free} free`;
}

/** One line for each kind of change, in the order in which the kinds first occur. */
function changesText(changes: Change[]): string[] {
  const kinds = Map.groupBy(changes, ({ change }) => change);
  return [...kinds].map(([kind, those]) => `${kind}: ${those.map(({ name }) => name).join(', ')}`);
}

/** Names come from elsewhere; nothing in them may move the cursor or colour the terminal. */
function printable(line: string): string {
  return line.replace(/\p{Cc}+/gu, ' ');
}
