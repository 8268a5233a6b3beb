import { isLoopback } from '../../../protocol/loopback.ts';
import type { WebhookFormat } from '../../../protocol/webhooks.ts';

/** Name of the query parameter that brings the integration key of PagerDuty, which is sent in the body. */
export const ROUTING_KEY = 'routing_key';

/** Why a webhook cannot go to a URL; null if it can. The reason holds nothing of the URL. */
export function targetFault(text: string, format: WebhookFormat): string | null {
  const url = URL.parse(text);
  if (url === null) return 'it is no URL';
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    return 'it must begin with https://; http:// is allowed to loopback';
  if (url.username !== '' || url.password !== '') return 'it must not hold a user or a password';
  if (url.hash !== '') return 'it must not hold a fragment';
  if (format === 'pagerduty' && !/^\w{1,64}$/.test(url.searchParams.get(ROUTING_KEY) ?? ''))
    return `it must hold the integration key: ?${ROUTING_KEY}=…`;
  return null;
}
