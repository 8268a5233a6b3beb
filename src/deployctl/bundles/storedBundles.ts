import type { Command } from 'commander';
import type { Result, Run, Session } from '../config/session.ts';
import { path } from '../core/client.ts';
import { readPages, wholeSha } from '../core/lists.ts';
import { countOption } from '../core/options.ts';
import { formatAge, formatFacts, formatTable, formatTime, shorten, shortSha, signatureFacts } from '../core/table.ts';
import type { Bundle, BundleDetails } from '../core/types.ts';

/** `deployctl bundle list|show`. */
export function addStoredBundles(bundle: Command, run: Run): void {
  bundle
    .command('list')
    .description('List the bundles of the service, newest first')
    .option('--env <env>', 'only bundles of this environment')
    .option('--limit <count>', 'maximum number of entries', countOption)
    .action(run(listBundles));
  bundle
    .command('show')
    .description('Show a bundle of the service')
    .argument('<sha>', 'digest of the bundle, or its first characters')
    .action(run(showBundle));
}

async function listBundles(
  session: Session,
  _operands: [],
  { env, limit = Infinity }: { env?: string; limit?: number },
): Promise<Result> {
  const call = { path: '/v1/bundles', query: { env }, key: 'bundles', cursor: 'after', limit } as const;
  const json = await readPages<'bundles', Bundle>(await session.api(), call);
  const rows = json.bundles.map((bundle) => [
    shortSha(bundle.sha256),
    bundle.env,
    bundle.name,
    bundle.version,
    String(bundle.sequence),
    String(bundle.size_bytes),
    bundle.signature ?? '-',
    formatAge(bundle.received_at, session.nowMs),
    bundle.received_from,
  ]);
  const head = ['SHA256', 'ENV', 'NAME', 'VERSION', 'SEQUENCE', 'BYTES', 'SIGNATURE', 'AGE', 'FROM'];
  return { json, text: formatTable(head, rows, session.width) };
}

async function showBundle(session: Session, [sha]: [string]): Promise<Result> {
  const api = await session.api();
  const sha256 = await wholeSha(api, sha);
  const json = await api.call<BundleDetails>({ method: 'GET', path: path`/v1/bundles/${sha256}` });
  return { json, text: formatBundle(json, session.nowMs) };
}

function formatBundle(bundle: BundleDetails, nowMs: number): string {
  const {
    name,
    version,
    sequence,
    env,
    production,
    allow_privileged,
    allow_rollback,
    emergency,
    variables = {},
    profiles = [],
  } = bundle;
  const allowed = [
    allow_privileged && 'allow_privileged',
    allow_rollback && 'allow_rollback',
    emergency && 'emergency',
  ].filter(Boolean);
  return formatFacts([
    ['bundle', `${name} ${version}, sequence ${sequence}, for env ${env}`],
    ['sha256', bundle.sha256],
    ['bytes', String(bundle.size_bytes)],
    ['production', production ? 'yes' : 'no'],
    ['flags', allowed.join(', ') || null],
    ...signatureFacts(bundle),
    ['received', `${formatTime(bundle.received_at, nowMs)} from ${bundle.received_from}`],
    ['profiles', profiles.join(', ') || null],
    ...Object.entries(variables).map(([key, value]): [string, string] => ['variable', `${key}=${shorten(value, 80)}`]),
  ]);
}
