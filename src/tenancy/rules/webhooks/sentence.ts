import type { WebhookEvent } from '../../../protocol/webhooks.ts';
import { RETIRED } from './event.ts';

/** What has happened, in one sentence of plain text for people; names have no character that a chat tool takes for markup. */
export function sentenceOf({ type, data }: WebhookEvent): string {
  const { env, backend, code, reason, rollout } = data;
  const host = backend && `${plain(backend.host ?? backend.id)} (${plain(backend.site)}, env ${env})`;
  const told = [code, reason === null ? null : plain(reason)].filter((part) => part !== null);
  const why = told.length === 0 ? '' : `: ${told.join(': ')}`;
  const bundle = bundleOf(data.bundle);
  switch (type) {
    case 'backend.refused':
      return `${host} refused ${bundle}${why}`;
    case 'backend.failed':
      return `${host} failed to apply ${bundle}${why}`;
    case 'backend.unhealthy':
      return `${host} is unhealthy${why}`;
    case 'backend.recovered':
      return `${host} ${code === RETIRED ? 'retires' : 'is well again'}`;
    case 'backend.offline':
      return `${host} is offline`;
    case 'backend.back':
      return `${host} ${code === RETIRED ? 'retires' : 'is back'}`;
    case 'rollout.halted':
      return `the rollout of ${bundle} in env ${env} was halted${haltOf(rollout)}`;
    case 'rollout.resumed':
      return `the rollout of ${bundle} in env ${env} goes on`;
    case 'rollout.aborted':
      return `the rollout of ${bundle} in env ${env} was aborted`;
    case 'bundle.awaiting_signature':
      return `${bundle} of env ${env} awaits signatures`;
    case 'webhook.test':
      return `a test of the webhook of ${env === null ? 'all envs' : `env ${env}`}`;
  }
}

/** A name with each character replaced that could be markup, a mention or a link in brackets of any chat tool. */
export function plain(name: string): string {
  return name.replace(/[^\p{L}\p{M}\p{N} ._:/+,()-]/gu, '\ufffd');
}

function haltOf(rollout: WebhookEvent['data']['rollout']): string {
  if (rollout?.halted_by === 'failures') return `: ${rollout.failures} backends have failed`;
  return rollout?.halted_by === 'gate' ? ' at its gate' : '';
}

function bundleOf(bundle: WebhookEvent['data']['bundle']): string {
  if (bundle === null) return 'its bundle';
  const { name, version, sha256 } = bundle;
  return `${plain(name)} ${plain(version)} (${sha256.slice(0, 12)})`;
}
