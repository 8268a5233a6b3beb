import { proveWritable } from '../store/proveWritable.ts';
import type { Dependencies } from './dependencies.ts';

/** What the service cannot do without, by the name that `/readyz` tells. */
export type Part = 'store' | 'secretstore' | 'bundles' | 'mesh';

/** Milliseconds within which a part must answer. */
const PART_TIMEOUT_MS = 5000;
/** Milliseconds for which an answer is told again, so that callers cannot make the service ask more often. */
const KEPT_MS = 1000;

/** Asks every part at once; the result are the parts that are missing. Calls at the same time share one look. */
export function createReadiness(deps: Dependencies): () => Promise<Part[]> {
  let last: { at: number; missing: Promise<Part[]> } | undefined;
  return () => {
    const now = performance.now();
    if (last === undefined || now - last.at > KEPT_MS) last = { at: now, missing: findMissing(deps) };
    return last.missing;
  };
}

async function findMissing(deps: Dependencies): Promise<Part[]> {
  const { store, secretstore, bundles, mesh } = deps;
  const checks: [Part, Promise<unknown>][] = [
    ['store', proveWritable(store)],
    ['secretstore', secretstore.check()],
    ['bundles', bundles.check()],
    ['mesh', mesh === null ? Promise.resolve() : mesh.check()],
  ];
  const missing = await Promise.all(checks.map(([part, check]) => partIfMissing(deps, part, check)));
  return missing.filter((part) => part !== null);
}

async function partIfMissing({ log }: Dependencies, part: Part, check: Promise<unknown>): Promise<Part | null> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('no answer in time')), PART_TIMEOUT_MS);
  try {
    await Promise.race([check, late.promise]);
    return null;
  } catch (error) {
    log('warn', `not ready: ${part}: ${error instanceof Error ? error.message : String(error)}`);
    return part;
  } finally {
    clearTimeout(timer);
  }
}
