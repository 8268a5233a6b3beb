import { Fault } from '../../../machines/fault.ts';

/** The result of an operation, or its Fault as a value; other errors are thrown. */
export async function catchFault<T>(operation: () => Promise<T>): Promise<T | Fault> {
  return operation().catch((error: unknown) => {
    if (error instanceof Fault) return error;
    throw error;
  });
}
