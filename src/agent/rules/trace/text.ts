import { endingNames, endings } from '../../../../machines/endings.ts';
import type { Noted, Step, Trace } from './trace.ts';
import { decisionText, reasonsOf } from './reasons.ts';

/** A trace for people: how the tick came out, why, what took longest, then the way it went. */
export function traceText(trace: Trace): string {
  const { tick, started_at, env, version, ending, exit, ms } = trace;
  const reasons = reasonsOf(trace).map((reason) => `  ${reason}`);
  return [
    `tick ${tick} of env ${env}, ${started_at}, deployd ${version}`,
    `${ending} after ${duration(ms)}, exit ${exit}: ${endings[ending].description}`,
    ...(reasons.length > 0 ? ['', 'Why', ...reasons] : []),
    ...['', 'Longest', `  ${longest(trace)}`],
    ...['', 'Way', ...timeline(trace)],
    ...(exit === 0 ? [] : ['', `All it said: journalctl -u deployd.service | grep tick=${tick}`]),
  ].join('\n');
}

/** One line for each trace, as a list of them shows it. */
export function traceLine(trace: Trace): string {
  const { tick, started_at, ending, codes, ms, intent } = trace;
  const [first = '', ...others] = reasonsOf(trace);
  const why = `${first}${others.length > 0 ? ' …' : ''}`;
  const named = codes.length > 0 && !why.startsWith(codes[0] ?? '') ? ` ${codes.join(', ')}` : '';
  const what = intent === 'bootstrap' ? 'bootstrap ' : '';
  return `${started_at.slice(0, 19)}Z  ${tick.slice(0, 8)}  ${duration(ms).padStart(7)}  ${what}${ending}${named}: ${why}`;
}

/** Time that is spent in a state which runs another machine is that machine's. */
function longest({ steps, ms }: Trace): string {
  const own = steps.filter((step) => !passing.has(step.state) && !steps.some((other) => isWithin(other, step)));
  const slowest = own.toSorted((a, b) => b.ms - a.ms).slice(0, 3);
  const share = (step: Step) =>
    `${step.state} ${duration(step.ms)} (${Math.round((step.ms / Math.max(1, ms)) * 100)} %)`;
  return slowest.map(share).join(', ');
}

function isWithin(inner: Step, outer: Step): boolean {
  const begins = inner.at_ms >= outer.at_ms && inner.at_ms <= outer.at_ms + outer.ms;
  return (
    inner.machine !== 'tick' && outer.machine === 'tick' && ['applying', 'takingDown'].includes(outer.state) && begins
  );
}

/** States in the order in which they were entered; what was decided in one stands below it. */
function timeline({ steps, decisions }: Trace): string[] {
  const shown = steps.filter(({ state }) => !passing.has(state));
  return shown.flatMap((step) => [stepText(step), ...decisions.filter((each) => fellIn(step, each)).map(noteText)]);
}

function fellIn({ state, at_ms, ms }: Step, decision: Noted): boolean {
  return decision.state === state && decision.at_ms >= at_ms && decision.at_ms <= at_ms + ms;
}

function noteText(decision: Noted): string {
  return `${' '.repeat(15)}→ ${decisionText(decision)}`;
}

/** States that are left at once and tell nothing; the ending stands at the top. */
const passing = new Set(['token', 'deciding', 'failing', 'tidying', 'settled', 'ended', ...endingNames]);

function stepText({ machine, state, at_ms, ms }: Step): string {
  const name = `${machine === 'tick' ? '' : '  '}${state}`;
  return `${duration(at_ms).padStart(9)}  ${name.padEnd(24)}${duration(ms).padStart(9)}`;
}

function duration(ms: number): string {
  if (ms < 1000) return `${ms} ms`;
  return ms < 120_000
    ? `${(ms / 1000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
