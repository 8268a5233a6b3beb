import { refusedFault } from '../../../machines/fault.ts';
import { formatFault, type Refusal, refusalWith } from '../../../machines/refusals.ts';
import { formatSize, printable, terminalSafe } from '../../core/text.rules.ts';
import { formatPermitted } from '../policy/policyHost.rules.ts';
import type { Change } from './changes.rules.ts';
import { formatPulls } from './images.rules.ts';
import type { Plan } from './plan.rules.ts';
import type { WaitPlan } from './waitPlan.rules.ts';
import { formatSeconds } from './writtenServices.rules.ts';

/** The plan as text: a line for each fault that a tick would refuse, then one aligned row for each fact. */
export function formatPlan(plan: Plan): string {
  return formatRows(headlines(plan), rowsOf(plan));
}

function headlines({ refusals }: Plan): string[] {
  return refusals.length === 0 ? ['nothing is refused'] : refusedFault(refusals.flatMap(faultsOf)).lines;
}

/** A refusal for each fault. */
function faultsOf(refusal: Refusal): Refusal[] {
  return refusal.faults?.map((fault) => refusalWith(refusal.code, [fault])) ?? [refusal];
}

function rowsOf({
  bundle,
  sha,
  signers = [],
  permitted,
  disk,
  profiles,
  services,
  replaced = [],
  volumes,
  images,
  pulls = [],
  wait,
  variables,
  ignored,
  warnings,
  notices,
  shown,
  not_judged,
}: Plan): Row[] {
  const named =
    bundle && `${bundle.name} ${bundle.version}, sequence ${bundle.sequence}, for environment ${bundle.env}`;
  return [
    ['bundle', [...(named === null ? [] : [named]), ...(sha === null ? [] : [sha])]],
    ['signed by', [...signers]],
    ['policy', permitted.map(formatPermitted)],
    ['disk', disk.map(formatDisk)],
    ['profiles', formatChanges(profiles)],
    ['services', formatChanges(services)],
    ['replaced', replaced.map(({ service, order, why }) => `${printable(service)}: ${order}: ${why}`)],
    ['volumes', formatChanges(volumes)],
    ['images', formatChanges(images)],
    ['pull', formatPulls(pulls)],
    ['wait', wait === undefined ? [] : formatWait(wait)],
    ['variables', Object.entries(variables).map(([name, value]) => `${name}=${printable(value)}`)],
    ['ignored', ignored],
    ['warnings', warnings.map(formatFault)],
    ['notices', notices.map(formatFault)],
    ['shown', shown],
    ['not judged', not_judged.map(({ codes, why }) => `${codes.join(', ')}: ${why}`)],
  ];
}

function formatDisk({ paths, free_bytes, needed_bytes }: Plan['disk'][number]): string {
  const free = free_bytes === null ? 'an unknown amount' : formatSize(free_bytes, Math.floor);
  return `${paths.join(', ')}: needs ${formatSize(needed_bytes, Math.ceil)}, ${free} free`;
}

/** How long an apply waits, and why. */
function formatWait({ seconds, chain, jobs, job_timeout_s, unknown_images }: WaitPlan): string[] {
  const links = chain.map(({ service, seconds: own, why }) => `${printable(service)} ${formatSeconds(own)} (${why})`);
  const demand = links.length === 0 ? 'no healthcheck is known' : `longest chain: ${links.join(', then ')}`;
  const limit = seconds === null ? demand : `up to ${formatSeconds(seconds)} for healthy containers; ${demand}`;
  const each =
    job_timeout_s === null ? 'until it has ended' : `up to ${formatSeconds(job_timeout_s)} until it has ended`;
  return [
    ...(seconds === null && links.length === 0 ? [] : [limit]),
    ...(jobs.length === 0 ? [] : [`each job ${each}: ${jobs.map((name) => printable(name)).join(', ')}`]),
    ...(unknown_images.length === 0
      ? []
      : [
          `not counted, since not on this host yet: healthchecks of ${unknown_images.map((name) => printable(name)).join(', ')}`,
        ]),
  ];
}

/** One line for each kind of change, in the order of first occurrence. */
function formatChanges(changes: Change[]): string[] {
  const kinds = [...new Set(changes.map(({ change }) => change))];
  const namesOf = (kind: Change['change']) => changes.filter(({ change }) => change === kind).map(({ name }) => name);
  return kinds.map((kind) => `${kind}: ${namesOf(kind).join(', ')}`);
}

/** A label, and a line for each of its values. */
type Row = [label: string, values: string[]];

/** Aligned rows below a headline, safe for a terminal; rows without values are left out. */
export function formatRows(headlines: readonly string[], rows: readonly Row[]): string {
  const shown = rows.filter(([, values]) => values.length > 0);
  const width = Math.max(...shown.map(([label]) => label.length));
  const lines = shown.flatMap(([label, values]) =>
    values.map((value, index) => `  ${(index === 0 ? label : '').padEnd(width)}  ${value}`),
  );
  return [...headlines, ...lines].map(terminalSafe).join('\n');
}
