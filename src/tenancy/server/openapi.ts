import type { WebhookEvent as Event } from '../../api/webhooks.rules.ts';
import { sessionCookie } from '../http/responses.ts';
import { eventOf, type Occurrence } from '../webhooks/event.rules.ts';
import { GateAnswer, GateQuestion, WebhookEvent } from '../webhooks/webhookSchemas.ts';

const bearer = { type: 'http', scheme: 'bearer' } as const;

/** The head of the OpenAPI document. */
export function documentInfo(version: string) {
  return {
    openapi: '3.1.0' as const,
    info: {
      title: 'Tenancy service of deployd',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: [
        'API of the tenancy service for deploy agents, operators and the secretstore. Bodies are JSON in UTF-8, times are RFC',
        '3339 in UTC. Bearers are read only from the Authorization header; a request with a bearer ignores cookies. Unknown',
        'fields are rejected in requests of operators and ignored in requests of agents. Agents ignore unknown fields of',
        'responses. The X-Request-Id header of a request (at most 64 letters, digits, _ and -) is written to the logs.',
      ].join(' '),
    },
    servers: [{ url: 'https://{tenancy}', variables: { tenancy: { default: 'tenancy.deploy' } } }],
    tags: [
      { name: 'public', description: 'Answered without a bearer.' },
      { name: 'agent', description: 'Called by agents, with the secretstore token of the host as bearer.' },
      {
        name: 'operators',
        description: 'Called by operators, with an operator token as bearer or with a browser session.',
      },
    ],
    webhooks: documentedWebhooks,
    components: {
      securitySchemes: {
        operatorToken: { ...bearer, description: 'Token of an operator.' },
        session: {
          ...({ type: 'apiKey', in: 'cookie', name: sessionCookie } as const),
          description:
            'Session of a person; what changes or reveals something is accepted from pages of the service only (Sec-Fetch-Site, Origin).',
        },
        storeToken: { ...bearer, description: 'Token of the secretstore that a host has.' },
      },
    },
  };
}

const description = [
  'Sent to the webhooks of the format `standard`, at least once and in the order of each webhook, signed by the scheme of Standard',
  'Webhooks 1.0.0: `webhook-signature` has the base64 of HMAC-SHA256 over `webhook-id`, `webhook-timestamp` and the body, joined',
  'by dots. The id is the same at each try. Any answer 2xx takes it; a redirect is not followed.',
].join(' ');

const gateDescription = [
  'Sent to the webhook that a rollout names, when a wave has succeeded and its soak is over, signed as events are; the id is the same',
  'at each try at one gate. An answer 2xx with a verdict lets the rollout pass or halts it. Anything else is not a valid answer: the question',
  'is asked again, after `Retry-After` or with growing pauses, and the rollout is halted after `webhooks.give_up_after_s`.',
].join(' ');

const parameters = ['id', 'timestamp', 'signature'].map((name) => ({
  name: `webhook-${name}`,
  in: 'header' as const,
  required: true,
  schema: { type: 'string' as const },
}));

/** The webhook messages of the service, for the OpenAPI document. */
const documentedWebhooks = {
  event: {
    post: {
      operationId: 'receiveEvent',
      summary: 'An event of the format `standard`',
      description,
      parameters,
      requestBody: {
        required: true,
        content: { 'application/json': { schema: WebhookEvent, examples: examplesOf() } },
      },
      responses: { '2XX': { description: 'Taken.' } },
    },
  },
  gate: {
    post: {
      operationId: 'answerGate',
      summary: 'The question of a gate: may the rollout continue?',
      description: gateDescription,
      parameters,
      requestBody: { required: true, content: { 'application/json': { schema: GateQuestion } } },
      responses: { '2XX': { description: 'A verdict.', content: { 'application/json': { schema: GateAnswer } } } },
    },
  },
};

function examplesOf(): Record<string, { value: Event }> {
  const now = Date.parse('2026-11-24T12:00:00Z');
  const id = '0f8fad5b-d9cb-469f-a165-70867728950e';
  const check_in = JSON.stringify({ host: { name: 'db-1.example' } });
  const backend = { id, site: 'berlin', check_in };
  const bundle = { sha256: '3f2a91bc0d14'.padEnd(64, '0'), name: 'shop', version: '1.4.0', sequence: 17 };
  const occurrences: Record<string, Occurrence> = {
    failed: { type: 'backend.failed', now, env: 'eu-1', backend, bundle, code: 'PULL_FAILED' },
    offline: { type: 'backend.offline', now, env: 'eu-1', backend },
    halted: { type: 'rollout.halted', now, env: 'eu-1', bundle, rollout: { id, failures: 3, halted_by: 'failures' } },
    awaiting: { type: 'bundle.awaiting_signature', now, env: 'eu-1', bundle },
  };
  return Object.fromEntries(
    Object.entries(occurrences).map(([name, occurrence]) => [name, { value: eventOf(occurrence) }]),
  );
}
