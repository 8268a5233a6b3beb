import type { WebhookEvent, WebhookFormat } from '../../../protocol/webhooks.ts';
import { pagerDutyBody } from './pagerDuty.ts';
import { plain, sentenceOf } from './sentence.ts';
import { ROUTING_KEY } from './target.ts';

/** A message as an endpoint takes it: where it goes, and the object of its body. */
export interface EndpointMessage {
  url: URL;
  body: object;
}

/** The message of an event for an endpoint of a format; `source` names this service. */
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
  const text = sentenceOf(event).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return { text, mrkdwn: false, unfurl_links: false, unfurl_media: false };
}

/** An Adaptive Card for a workflow of Teams. The text of runs, other than that of blocks and facts, is no Markdown. */
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
      paragraph({ text: [...details, event.timestamp].join(' · '), isSubtle: true }),
    ],
  };
  const attachment = { contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content };
  return { type: 'message', attachments: [attachment] };
}
