import type { WebhookDependencies } from './webhooks.ts';
import { cursorOf, placeOf } from '../core/lists.rules.ts';
import { DEFAULT_LIMIT } from '../../api/commonSchemas.ts';
import { answer, noContent, routesFor } from '../http/operatorRoute.ts';
import {
  CreatedWebhook,
  DeadLetterList,
  DeadLetterQuery,
  NewWebhook,
  Redelivery,
  Requeued,
  RotatedSecret,
  WebhookList,
  WebhookParams,
  WebhookQuery,
  WebhookTest,
} from './webhookSchemas.ts';
import {
  createWebhook,
  deleteWebhook,
  listDeadLetters,
  listWebhooks,
  redeliver,
  rotateSecret,
  testWebhook,
} from './webhooks.ts';

const route = routesFor<WebhookDependencies>();

const errors = { 404: 'WEBHOOK_NOT_FOUND' };

/** Routes of webhooks, which notify operators, and of their dead letters. */
export const webhookRoutes = [
  route({
    method: 'GET',
    url: '/v1/webhooks',
    role: 'viewer',
    summary: 'List the webhooks of the environments that the token permits',
    query: WebhookQuery,
    responses: { 200: WebhookList },
    act: 'webhook.list',
    target: ({ query }) => query.env ?? '',
    handle: async (deps, { operator, query }) =>
      answer(200, await listWebhooks(deps, { operator, ...query, limit: query.limit ?? DEFAULT_LIMIT })),
  }),
  route({
    method: 'POST',
    url: '/v1/webhooks',
    role: 'admin',
    summary: 'Create a webhook; its secret is shown once',
    body: NewWebhook,
    responses: { 201: CreatedWebhook },
    errors: { 404: 'ENV_NOT_FOUND', 409: 'WEBHOOK_LIMIT', 422: 'WEBHOOK_INVALID, WEBHOOK_URL_INVALID' },
    act: 'webhook.create',
    target: ({ body }) => body.name,
    noStore: true,
    handle: async (deps, { operator, caller, body }) =>
      answer(201, await createWebhook(deps, { operator, caller, fields: body })),
  }),
  route({
    method: 'DELETE',
    url: '/v1/webhooks/:id',
    role: 'admin',
    summary: 'Delete a webhook and its pending deliveries',
    params: WebhookParams,
    responses: { 204: null },
    errors,
    act: 'webhook.delete',
    handle: async (deps, { operator, caller, params }) => {
      await deleteWebhook(deps, { operator, caller, id: params.id });
      return noContent;
    },
  }),
  route({
    method: 'POST',
    url: '/v1/webhooks/:id/secret',
    role: 'admin',
    summary: 'Replace the secret of a webhook; the previous one also signs for a day',
    params: WebhookParams,
    responses: { 200: RotatedSecret },
    errors,
    act: 'webhook.rotate',
    noStore: true,
    handle: async (deps, { operator, caller, params }) =>
      answer(200, await rotateSecret(deps, { operator, caller, id: params.id })),
  }),
  route({
    method: 'POST',
    url: '/v1/webhooks/:id/test',
    role: 'admin',
    summary: 'Send a test event to a webhook, and show the result',
    params: WebhookParams,
    responses: { 200: WebhookTest },
    errors,
    act: 'webhook.test',
    handle: async (deps, { operator, caller, params, signal }) =>
      answer(200, await testWebhook(deps, { operator, caller, id: params.id, signal })),
  }),
  route({
    method: 'GET',
    url: '/v1/webhooks/:id/dead',
    role: 'viewer',
    summary: 'List the events that could not be delivered to a webhook, newest first',
    params: WebhookParams,
    query: DeadLetterQuery,
    responses: { 200: DeadLetterList },
    errors,
    act: 'webhook.dead',
    handle: async (deps, { operator, params, query: { before, limit = DEFAULT_LIMIT } }) => {
      const place = before === undefined ? undefined : placeOf(before);
      const { deliveries, last } = await listDeadLetters(deps, { operator, id: params.id, before: place, limit });
      return answer(200, { deliveries, next: last && cursorOf(last) });
    },
  }),
  route({
    method: 'POST',
    url: '/v1/webhooks/:id/redeliver',
    role: 'admin',
    summary: 'Retry one or all events that could not be delivered',
    params: WebhookParams,
    body: Redelivery,
    responses: { 202: Requeued },
    errors,
    act: 'webhook.redeliver',
    handle: async (deps, { operator, caller, params, body: { delivery } }) =>
      answer(202, await redeliver(deps, { operator, caller, id: params.id, delivery })),
  }),
];
