import type { Bundle, Orders } from '../../../machines/words.ts';
import { tidy } from '../tidy.ts';
import type { Tools } from '../tools.ts';

/** Records the release as applied, then lets go what is beyond `keep_releases`; untidiness is no failure. */
export async function commit(tools: Tools, { bundle, orders }: { bundle: Bundle; orders: Orders }): Promise<void> {
  const { settings, state, tick } = tools;
  const { version, sequence, production } = bundle.manifest;
  await state.update({
    applied_sha: bundle.sha,
    applied_at: new Date().toISOString(),
    applied_version: version,
    highest_sequence: Math.max(sequence, state.state.highest_sequence),
    production: production || orders.production,
    attempt: null,
    failing: null,
  });
  await rememberImages(tools, bundle.sha);
  tick.journal.info(`applied: version=${version} sha=${bundle.sha} reason=${orders.reason}`);
  await tidy(tools, settings.keep_releases);
}

/** A reference may stand for another image tomorrow; a way back to this release needs the one that runs now. */
async function rememberImages({ containers, releases, vault }: Tools, sha: string): Promise<void> {
  const record = await releases.readRecord(sha);
  if (record === null) return;
  const running = new Map((await containers.list()).map(({ image, imageId }) => [image, imageId]));
  const images = [...running].map(([reference, id]) => ({ reference, id }));
  const redactor = vault.redactor();
  const isPlain = ({ reference }: { reference: string }) => redactor.redact(reference) === reference;
  await releases.writeRecord(sha, { ...record, images: images.filter(isPlain) });
}
