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
  tick.journal.info(`applied: version=${version} sha=${bundle.sha} reason=${orders.reason}`);
  await tidy(tools, settings.keep_releases);
}
