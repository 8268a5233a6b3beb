import { Fault } from '../../../machines/fault.ts';
import type { Vault } from '../secrets/vault.ts';

/** Characters of a line that are kept, of which an engine may have said most. */
const maxLine = 2000;

/** The same fault without values of secrets in its lines, as they may be logged, stored and reported. */
export function redactFault({ vault }: { vault: Vault }, fault: Fault): Fault {
  const { ending, code, tail } = fault;
  const [line = '', ...moreLines] = fault.lines.map((text) => vault.redactor().redact(text).slice(0, maxLine));
  return new Fault(ending, line, { ...(code && { code }), ...(tail && { tail }), moreLines });
}

/** The result of an operation, or its Fault as a value; other errors are thrown. */
export async function catchFault<T>(operation: () => Promise<T>): Promise<T | Fault> {
  return operation().catch((error: unknown) => {
    if (error instanceof Fault) return error;
    throw error;
  });
}
