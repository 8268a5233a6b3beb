import { isLoopback } from '../../core/http.rules.ts';
import type { WebhookEvent, WebhookFormat } from '../../api/webhooks.rules.ts';
import { RETIRED } from './event.rules.ts';

/** A message in the form of an endpoint: its URL, and the object of its body. */
export interface EndpointMessage {
  url: URL;
  body: object;
}

/** The message of an event for an endpoint's format; `source` names this service. */
export function messageOf(
  event: WebhookEvent,
  { target, format, source }: { target: string; format: WebhookFormat; source: string },
): EndpointMessage {
  const url = new URL(target);
  if (format !== 'pagerduty') return { url, body: bodies[format](event) };
  const routingKey = url.searchParams.get(ROUTING_KEY) ?? '';
  url.searchParams.delete(ROUTING_KEY);
  return { url, body: pagerDutyBody(event, { routingKey, source }) };
}

const bodies: Record<Exclude<WebhookFormat, 'pagerduty'>, (event: WebhookEvent) => object> = {
  standard: (event) => event,
  slack: slackBody,
  teams: teamsBody,
};

/** Plain text for incoming webhooks of Slack, which unescapes three characters, and of Mattermost. */
function slackBody(event: WebhookEvent): object {
  const text = [sentenceOf(event), ...wordsOf(event)]
    .join('\n')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
  return { text, mrkdwn: false, unfurl_links: false, unfurl_media: false };
}

/** An Adaptive Card for a Teams workflow. Text runs are not Markdown, in contrast to text blocks and facts. */
function teamsBody(event: WebhookEvent): object {
  const { env, code } = event.data;
  const details = [event.type, env, code].filter((part) => part !== null).map(plain);
  const paragraph = (run: object) => ({ type: 'RichTextBlock', inlines: [{ type: 'TextRun', ...run }] });
  const content = {
    $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
    type: 'AdaptiveCard',
    version: '1.4',
    body: [
      paragraph({ text: sentenceOf(event), weight: 'Bolder' }),
      ...wordsOf(event).map((text) => paragraph({ text })),
      paragraph({ text: [...details, event.timestamp].join(' · '), isSubtle: true }),
    ],
  };
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content };
  return { type: 'message', attachments: [attachment] };
}

/**
 * The event in one sentence of plain text for people; names contain no characters that a chat tool interprets as
 * markup.
 */
export function sentenceOf({ type, data }: WebhookEvent): string {
  const { env, backend, code, reason, rollout } = data;
  const host = backend && `${plain(backend.host ?? backend.id)} (${plain(backend.site)}, environment ${env})`;
  const told = [code, reason === null ? null : plain(reason)].filter((part) => part !== null);
  const why = told.length === 0 ? '' : `: ${told.join(': ')}`;
  const bundle = bundleOf(data.bundle);
  const ofRollout = `the rollout of ${bundle} in environment ${env}`;
  switch (type) {
    case 'backend.refused':
      return `${host} refused ${bundle}${why}`;
    case 'backend.failed':
      return `${host} failed to apply ${bundle}${why}`;
    case 'backend.unhealthy':
      return `${host} is unhealthy${why}`;
    case 'backend.recovered':
      return `${host} ${code === RETIRED ? 'is being retired' : 'has recovered'}`;
    case 'backend.offline':
      return `${host} is offline`;
    case 'backend.back':
      return `${host} ${code === RETIRED ? 'is being retired' : 'is back'}`;
    case 'backend.cloned':
      return `${host} was cloned: two hosts use one token, and neither gets bundles until an operator accepts one`;
    case 'backend.accepted':
      return `${host} ${code === RETIRED ? 'is being retired' : 'is no longer in doubt: an operator has accepted one host'}`;
    case 'backend.changed':
      return `${host} ${code === 'MOVED' ? 'runs on another machine' : 'was rebooted'}`;
    case 'backend.differs':
      return `${host} has other settings than its environment; deployctl host show ${backend?.id} shows them`;
    case 'rollout.started':
      return `${ofRollout} has started: ${count(rollout?.waves, 'wave')}`;
    case 'rollout.wave_passed':
      return `${ofRollout}: ${waveOf(rollout)} has passed${excusedOf(rollout)}`;
    case 'rollout.waiting':
      return `${ofRollout}: ${waveOf(rollout)} still waits for ${count(rollout?.awaited, 'host')}`;
    case 'rollout.approval_needed':
      return `${ofRollout} needs approval: ${waveOf(rollout)} has succeeded${excusedOf(rollout)}`;
    case 'rollout.halted':
      return `${ofRollout} was halted${haltOf(rollout)}`;
    case 'rollout.resumed':
      return `${ofRollout} continues${excusedOf(rollout)}`;
    case 'rollout.done':
      return `${ofRollout} is done${excusedOf(rollout)}`;
    case 'rollout.aborted':
      return `${ofRollout} was aborted`;
    case 'bundle.awaiting_signature':
      return `${bundle} of environment ${env} awaits signatures`;
    case 'env.held':
      return `environment ${env} is held: the store was restored, and its hosts get no orders until it is reviewed`;
    case 'env.released':
      return `environment ${env} is released: its hosts get orders again`;
    case 'webhook.test':
      return `a test of the webhook of ${env === null ? 'all environments' : `environment ${env}`}`;
  }
}

/**
 * A name in which each character is replaced that any chat tool could interpret as markup, a mention or a link.
 */
export function plain(name: string): string {
  return unlinked(name.replace(/[^\p{L}\p{M}\p{N} ._:/+,()-]/gu, '\ufffd'));
}

/** Characters that could be markup, a mention or a link, with others that look similar and mean nothing to chat tools. */
const lookalikes: Record<string, string> = {
  ...{ '@': '＠', '<': '‹', '>': '›', '[': '［', ']': '］', '*': '∗', '`': 'ˋ', '~': '∼', '#': '＃', '|': '｜' },
  ...{ '\\': '＼', '&': '＆', $: '＄' },
};

/** A line that a host has written, so that chat tools show it and interpret nothing in it. */
export function plainLine(line: string): string {
  const shown = line.replace(/[^\p{L}\p{M}\p{N} ._:/+,()=;"'?!%^{}…-]/gu, (each) => lookalikes[each] ?? '\ufffd');
  return unlinked(shown);
}

/** Addresses are broken, and underscores at the edge of a word replaced, which begin or end emphasis. */
function unlinked(text: string): string {
  const edge = /(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;
  return text
    .replaceAll('://', ': //')
    .replace(/\bwww\./gi, 'www .')
    .replace(edge, '＿');
}

/** The words of a host about its failure, line by line. Each line begins so that none can be a heading, list or quote. */
function wordsOf({ data: { detail = null, output = null } }: WebhookEvent): string[] {
  const lines = [detail, output].flatMap((text) => text?.split('\n') ?? []);
  return lines.map((line) => `│ ${plainLine(line)}`);
}

function haltOf(rollout: RolloutFacts): string {
  if (rollout?.halted_by === 'failures') return `: ${count(rollout.failures, 'host')} failed`;
  if (rollout?.halted_by === 'deadline') return ' at the deadline of a wave';
  return rollout?.halted_by === 'gate' ? ' at its gate' : '';
}

type RolloutFacts = WebhookEvent['data']['rollout'];

function waveOf(rollout: RolloutFacts): string {
  return `wave ${rollout?.wave ?? 0} of ${rollout?.waves ?? 0}`;
}

function excusedOf(rollout: RolloutFacts): string {
  const excused = rollout?.excused ?? 0;
  return excused === 0 ? '' : `; ${count(excused, 'host')} excused`;
}

function count(number: number | undefined, what: string): string {
  return `${number ?? 0} ${what}${number === 1 ? '' : 's'}`;
}

function bundleOf(bundle: WebhookEvent['data']['bundle']): string {
  if (bundle === null) return 'its bundle';
  const { name, version, sha256 } = bundle;
  return `${plain(name)} ${plain(version)} (${sha256.slice(0, 12)})`;
}

type Type = WebhookEvent['type'];

/** Severity of each event; null for one that resolves the incident of its subject. */
const severities: Record<Type, 'error' | 'warning' | 'info' | null> = {
  'backend.refused': 'error',
  'backend.failed': 'error',
  'backend.unhealthy': 'error',
  'backend.recovered': null,
  'backend.offline': 'warning',
  'backend.back': null,
  'backend.cloned': 'error',
  'backend.accepted': null,
  'backend.changed': 'info',
  'backend.differs': 'error',
  'rollout.started': null,
  'rollout.wave_passed': null,
  'rollout.waiting': 'warning',
  'rollout.halted': 'error',
  'rollout.resumed': null,
  'rollout.approval_needed': 'warning',
  'rollout.done': null,
  'rollout.aborted': null,
  'bundle.awaiting_signature': 'info',
  'env.held': 'warning',
  'env.released': null,
  'webhook.test': 'info',
};

/** Longest summary that PagerDuty accepts, in characters. */
const MAX_SUMMARY = 1024;

/** An event for the Events API v2 of PagerDuty: one incident for each subject, resolved when it has recovered. */
function pagerDutyBody(event: WebhookEvent, { routingKey, source }: { routingKey: string; source: string }): object {
  const { type, timestamp, data } = event;
  const severity = severities[type];
  const base = { routing_key: routingKey, dedup_key: `deployd/${subjectOf(event)}` };
  if (severity === null) return { ...base, event_action: 'resolve' };
  const summary = sentenceOf(event).slice(0, MAX_SUMMARY);
  const grouping = { class: type, ...(data.env !== null && { group: data.env }) };
  const payload = { summary, source, severity, timestamp, ...grouping, custom_details: detailsOf(data) };
  return { ...base, event_action: 'trigger', client: 'deployd', payload };
}

/** The fields of an event for PagerDuty, which sends them on to chat tools. */
function detailsOf({ detail = null, output = null, ...data }: WebhookEvent['data']): object {
  const shown = (text: string | null) => text && text.split('\n').map(plainLine).join('\n');
  return { ...data, detail: shown(detail), output: shown(output) };
}

/** The subject of an incident. The health of a backend, its silence, its clones and its changes are separate subjects. */
function subjectOf({ type, data: { env, backend, bundle, rollout } }: WebhookEvent): string {
  if (backend !== null) {
    return `backend/${backend.id}/${aspects[type] ?? 'health'}`;
  }
  if (rollout !== null) return `rollout/${rollout.id}`;
  if (bundle !== null) return `bundle/${bundle.sha256}`;
  return type === 'webhook.test' ? 'test' : `env/${env}/restore`;
}

const aspects: Partial<Record<Type, string>> = {
  'backend.offline': 'presence',
  'backend.back': 'presence',
  'backend.cloned': 'clone',
  'backend.accepted': 'clone',
  'backend.changed': 'host',
  'backend.differs': 'settings',
};

/** Name of the query parameter with the integration key of PagerDuty, which is sent in the body. */
const ROUTING_KEY = 'routing_key';

/** The reason why a webhook cannot use a URL; null if it can. The reason contains no part of the URL. */
export function targetFault(text: string, format: WebhookFormat): string | null {
  const url = URL.parse(text);
  if (url === null) return 'it is not a URL';
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    return 'it must begin with https://; http:// is allowed to loopback';
  if (url.username !== '' || url.password !== '') return 'it must not hold a user or a password';
  if (url.hash !== '') return 'it must not hold a fragment';
  if (format === 'pagerduty' && !/^\w{1,64}$/.test(url.searchParams.get(ROUTING_KEY) ?? ''))
    return `it must hold the integration key: ?${ROUTING_KEY}=…`;
  return null;
}
