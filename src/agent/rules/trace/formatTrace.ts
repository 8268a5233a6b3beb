import { endingNames, endings } from '../../../../machines/endings.ts';
import { wasMadeIn, type RecordedDecision, type Step, type Trace } from './trace.ts';
import { describeDecision, reasonsOf } from './reasons.ts';

/** A trace as text: the ending, the reasons, the slowest states, then the timeline. */
export function formatTrace(trace: Trace): string {
  const { tick, started_at, env, version, ending, exit, ms, said = [] } = trace;
  const reasons = reasonsOf(trace).map((reason) => `  ${reason}`);
  return [
    `tick ${tick} of env ${env}, ${started_at}, deployd ${version}`,
    `${ending} after ${formatDuration(ms)}, exit ${exit}: ${endings[ending].description}`,
    ...(reasons.length > 0 ? ['', 'Why', ...reasons] : []),
    ...(said.length > 0 ? ['', 'What failed', ...said.map((line) => `  ${line}`)] : []),
    ...['', 'Longest', `  ${formatSlowest(trace)}`],
    ...['', 'Way', ...formatTimeline(trace)],
    ...(exit === 0 ? [] : ['', `All it said: journalctl -u deployd.service | grep tick=${tick}`]),
  ].join('\n');
}

/** A trace as one line of a list. */
export function formatTraceLine(trace: Trace): string {
  const { tick, started_at, ending, codes, ms, intent } = trace;
  const [first = '', ...others] = reasonsOf(trace);
  const why = `${first}${others.length > 0 ? ' …' : ''}`;
  const [code] = codes;
  const named = code !== undefined && !why.startsWith(code) ? ` ${codes.join(', ')}` : '';
  const what = intent === 'bootstrap' ? 'bootstrap ' : '';
  return `${started_at.slice(0, 19)}Z  ${tick.slice(0, 8)}  ${formatDuration(ms).padStart(7)}  ${what}${ending}${named}: ${why}`;
}

/** The slowest states, without those of the tick that run another machine. */
function formatSlowest({ steps, ms }: Trace): string {
  const own = steps.filter((step) => !transientStates.has(step.state) && !steps.some((other) => isNested(other, step)));
  const slowest = own.toSorted((a, b) => b.ms - a.ms).slice(0, 3);
  const share = (step: Step) =>
    `${step.state} ${formatDuration(step.ms)} (${Math.round((step.ms / Math.max(1, ms)) * 100)} %)`;
  return slowest.map(share).join(', ');
}

function isNested(inner: Step, outer: Step): boolean {
  const begins = inner.at_ms >= outer.at_ms && inner.at_ms <= outer.at_ms + outer.ms;
  return (
    inner.machine !== 'tick' && outer.machine === 'tick' && ['applying', 'takingDown'].includes(outer.state) && begins
  );
}

/** States in the order of entry, each followed by its decisions. */
function formatTimeline({ steps, decisions }: Trace): string[] {
  const shown = steps.filter(({ state }) => !transientStates.has(state));
  return shown.flatMap((step) => [
    formatStep(step),
    ...decisions.filter((each) => wasMadeIn(step, each)).map(formatDecision),
  ]);
}

function formatDecision(decision: RecordedDecision): string {
  return `${' '.repeat(15)}→ ${describeDecision(decision)}`;
}

/** States without work, which are left at once, and the endings, which the first line shows. */
const transientStates = new Set([
  ...['selectingCredential', 'deciding', 'classifyingFault', 'decidingPrune', 'selectingEnding', 'done'],
  ...endingNames,
]);

function formatStep({ machine, state, at_ms, ms }: Step): string {
  const name = `${machine === 'tick' ? '' : '  '}${state}`;
  return `${formatDuration(at_ms).padStart(9)}  ${name.padEnd(26)}${formatDuration(ms).padStart(9)}`;
}

/** Milliseconds as a text for people. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  if (ms < 120_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
