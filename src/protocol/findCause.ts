import type { FailureCause } from './failureCause.ts';
import { failureCauses, type CauseName } from './failureCauses.ts';
import { visible } from './printable.ts';

/** A cause that was found, and what names the culprit. */
export interface FoundCause {
  name: CauseName;
  what: string | null;
}

/** A line of compose about the progress of one resource, whose name may be anything. */
const progress = /^(?:Container|Network|Volume|Image) \S+ {2}\S/;

const causes = Object.entries(failureCauses) as [CauseName, FailureCause][];

/** The first cause in what an engine, compose or docker said, line by line; null for a text that none explains. */
export function causeSaid(text: string): FoundCause | null {
  return firstCause(text, ({ said }) => said);
}

/** The first cause in the log of a container, which may say anything: only what nothing but such a cause prints. */
export function causePrinted(text: string): FoundCause | null {
  return firstCause(text, ({ printed = [] }) => printed);
}

function firstCause(text: string, patternsOf: (cause: FailureCause) => readonly RegExp[]): FoundCause | null {
  const lines = text.split('\n').map((line) => line.trim());
  for (const line of lines.filter((each) => !progress.test(each)))
    for (const [name, cause] of causes)
      for (const pattern of patternsOf(cause)) {
        const match = pattern.exec(line);
        if (match) return { name, what: match.groups?.['what'] ?? null };
      }
  return null;
}

/** `a port of this host is in use (80); find its user …` */
export function describeCause({ name, what }: FoundCause): string {
  const { cause, cure } = failureCauses[name];
  return `${cause}${what === null ? '' : ` (${visible(what)})`}; ${cure}`;
}

/** The further line of a failure: what became of services, if that is known, and why. */
export function causeLine(cause: FoundCause | null, services = ''): string {
  return `cause: ${[services, cause === null ? '' : describeCause(cause)].filter((part) => part !== '').join(': ')}`;
}

/** The cause that a line tells as `describeCause` does; null without one. */
export function causeTold(line: string): CauseName | null {
  return causes.find(([, { cause }]) => line.includes(cause))?.[0] ?? null;
}
