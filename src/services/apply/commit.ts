import { Fault } from '../../../machines/fault.ts';
import { plain } from '../../../machines/outcomes.ts';
import type { Bundle, Orders } from '../../../machines/words.ts';
import { containersNow } from '../release.ts';
import { remembered } from '../remember.ts';
import type { Tools } from '../tools.ts';

/** Records the release as applied, its report beside it; a crash from here on loses neither. */
export async function commit(tools: Tools, { bundle, orders }: { bundle: Bundle; orders: Orders }): Promise<void> {
  const { state, tick } = tools;
  const { version, sequence, production } = bundle.manifest;
  await state.update({
    applied_sha: bundle.sha,
    applied_at: new Date().toISOString(),
    applied_version: version,
    highest_sequence: Math.max(sequence, state.state.highest_sequence),
    production: production || orders.production,
    attempt: null,
    failing: null,
    ...remembered(tools, { outcome: plain('applied'), orders, appliedSha: bundle.sha }),
  });
  await rememberImages(tools, bundle.sha).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    tick.journal.warn(`a way back to ${bundle.sha} may miss its images: ${error.message}`);
  });
  tick.journal.info(`applied: version=${version} sha=${bundle.sha} reason=${orders.reason}`);
}

/** A reference may stand for another image tomorrow; a way back to this release needs the one that runs now. */
async function rememberImages(tools: Tools, sha: string): Promise<void> {
  const { releases, vault } = tools;
  const record = await releases.readRecord(sha);
  if (record === null) return;
  const running = new Map((await containersNow(tools)).map(({ image, imageId }) => [image, imageId]));
  const images = [...running].map(([reference, id]) => ({ reference, id }));
  const redactor = vault.redactor();
  const isPlain = ({ reference }: { reference: string }) => redactor.redact(reference) === reference;
  await releases.writeRecord(sha, { ...record, images: images.filter(isPlain) });
}
