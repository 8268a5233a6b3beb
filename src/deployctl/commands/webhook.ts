import { type Command, InvalidArgumentError, Option } from 'commander';
import { eventTypes, webhookFormats } from '../../api/webhooks.rules.ts';
import { requireDestination, type Result, type RevealOptions, type Run, type Session } from '../config/session.ts';
import { path, readPages } from '../core/client.ts';
import { exits } from '../core/ctlError.ts';
import { writePrivateFile } from '../core/files.ts';
import { countOption, readValue } from '../core/input.ts';
import { formatAge, formatFacts, formatTable } from '../core/table.ts';
import type { CreatedWebhook, DeadLetter, RotatedSecret, Webhook, WebhookTest } from '../core/types.ts';

interface AddOptions extends RevealOptions {
  env?: string;
  event?: string[] | false;
  format: string;
  brief?: true;
}

/** `deployctl webhook list|add|remove|rotate|test|dead|redeliver`. */
export function addWebhook(program: Command, run: Run): void {
  const webhook = program
    .command('webhook')
    .helpCommand(false)
    .description('Manage notifications about hosts, rollouts and bundles');
  const named = (name: string, description: string) =>
    webhook.command(name).description(description).argument('<id>', 'id of the webhook');
  webhook
    .command('list')
    .description('List webhooks with their pending deliveries')
    .option('--env <env>', 'only of this environment')
    .action(run(listWebhooks));
  addAdd(webhook, run);
  named('remove', 'Remove a webhook and its pending deliveries').action(run(removeWebhook));
  reveals(named('rotate', 'Create a new signing secret; for one day, messages are signed with both')).action(
    run(rotate),
  );
  named('test', 'Send a test event and show the result').action(run(sendTest));
  named('dead', 'List failed deliveries, newest first')
    .option('--limit <count>', 'maximum number of entries', countOption, 50)
    .action(run(listDead));
  named('redeliver', 'Retry failed deliveries').argument('[delivery]', 'id of the delivery').action(run(redeliver));
}

function reveals(command: Command): Command {
  return command
    .option('--output <file>', 'file to write the signing secret to, with mode 0600')
    .option('--show', 'print the secret even to a terminal');
}

function addAdd(webhook: Command, run: Run): void {
  const add = webhook
    .command('add')
    .description('Create a webhook; its URL, which often contains a credential, is read from standard input');
  reveals(add.argument('<name>', 'name of the webhook'))
    .option('--env <env>', 'only events of this environment (default: all)')
    .addOption(
      new Option('--event <type>', 'event to send (default: all); repeatable')
        .choices(eventTypes)
        .argParser(eventOption),
    )
    .option('--no-event', 'send no events; use the webhook only as a gate of rollouts (requires the format standard)')
    .addOption(
      new Option('--format <format>', 'message format of the endpoint')
        .choices(webhookFormats)
        .default(webhookFormats[0]),
    )
    .option('--brief', 'send neither the detail nor the output of a report')
    .action(run(createWebhook));
}

/** Collects types of events; `--no-event` starts again. */
function eventOption(value: string, previous: string[] | false = []): string[] {
  const isKnown = eventTypes.some((type) => type === value);
  if (!isKnown) throw new InvalidArgumentError(`Allowed choices are ${eventTypes.join(', ')}.`);
  return [...(previous || []), value];
}

async function listWebhooks(session: Session, _operands: [], { env }: { env?: string }): Promise<Result> {
  const call = { path: '/v1/webhooks', query: { env }, key: 'webhooks', cursor: 'after', limit: Infinity } as const;
  const json = await readPages<'webhooks', Webhook>(await session.api(), call);
  const rows = json.webhooks.map((webhook) => [
    webhook.id,
    webhook.name,
    webhook.env ?? 'all',
    formatOf(webhook),
    webhook.origin,
    String(webhook.pending),
    String(webhook.dead),
    webhook.error ?? '-',
  ]);
  return {
    json,
    text: formatTable(['ID', 'NAME', 'ENV', 'FORMAT', 'TO', 'PENDING', 'DEAD', 'ERROR'], rows, session.width),
  };
}

function formatOf({ format, brief }: Pick<Webhook, 'format' | 'brief'>): string {
  return brief ? `${format}, brief` : format;
}

async function createWebhook(
  session: Session,
  [name]: [string],
  { env, event = [...eventTypes], format, brief, ...options }: AddOptions,
): Promise<Result> {
  requireDestination(session, options);
  const api = await session.api();
  const url = (await readValue(session.io, undefined, `URL of ${name}`)).trim();
  const body = { name, env: env ?? null, events: event || [], format, brief, url };
  const { secret, ...rest } = await api.call<CreatedWebhook>({ method: 'POST', path: '/v1/webhooks', json: body });
  const facts = formatFacts([
    ['webhook', rest.id],
    ['to', `${rest.origin}, ${formatOf(rest)}`],
    ['of', rest.env ?? 'all envs'],
    ['events', rest.events.join(' ') || 'none'],
  ]);
  return revealSecret(rest, { secret, facts }, options);
}

async function removeWebhook(session: Session, [id]: [string]): Promise<Result> {
  const api = await session.api();
  const json = await api.call({ method: 'DELETE', path: path`/v1/webhooks/${id}` });
  return { json, text: `webhook ${id} is removed` };
}

async function rotate(session: Session, [id]: [string], options: RevealOptions): Promise<Result> {
  requireDestination(session, options);
  const api = await session.api();
  const call = { method: 'POST', path: path`/v1/webhooks/${id}/secret` } as const;
  const { secret, ...rest } = await api.call<RotatedSecret>(call);
  return revealSecret(rest, { secret, facts: `the secret before also signs until ${rest.previous_until}` }, options);
}

/** The secret goes into a file, or with the rest to standard output. */
async function revealSecret(
  json: object,
  { secret, facts }: { secret: string; facts: string },
  { output }: RevealOptions,
): Promise<Result> {
  if (output === undefined) return { json: { ...json, secret }, text: `${facts}\nsecret\n${secret}` };
  await writePrivateFile(output, `${secret}\n`);
  return { json, text: `${facts}\nthe secret is in ${output}` };
}

async function sendTest(session: Session, [id]: [string]): Promise<Result> {
  const api = await session.api();
  const json = await api.call<WebhookTest>({ method: 'POST', path: path`/v1/webhooks/${id}/test` });
  const { delivered, status, error } = json;
  const text = delivered ? `the endpoint has taken it (${status})` : `not delivered: ${error}`;
  return { json, text, exit: delivered ? exits.done : exits.failed };
}

async function listDead(session: Session, [id]: [string], { limit }: { limit: number }): Promise<Result> {
  const call = { path: path`/v1/webhooks/${id}/dead`, key: 'deliveries', cursor: 'before', limit } as const;
  const json = await readPages<'deliveries', DeadLetter>(await session.api(), call);
  const rows = json.deliveries.map(({ id: delivery, event, dead_at, tries, error }) => [
    delivery,
    event.type,
    event.data.env ?? '-',
    formatAge(dead_at, session.nowMs),
    String(tries),
    error ?? '-',
  ]);
  return { json, text: formatTable(['ID', 'EVENT', 'ENV', 'AGE', 'TRIES', 'ERROR'], rows, session.width) };
}

async function redeliver(session: Session, [id, delivery]: [string, string?]): Promise<Result> {
  const api = await session.api();
  const call = { method: 'POST', path: path`/v1/webhooks/${id}/redeliver`, json: { delivery } } as const;
  const json = await api.call<{ queued: number }>(call);
  return { json, text: `${json.queued} of them are tried again` };
}
