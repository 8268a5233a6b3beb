import { type Static, Type } from 'typebox';
import { haltReasons } from '../../../machines/rollout.ts';
import { eventTypes, webhookFormats } from '../../api/webhooks.rules.ts';
import { cursorPattern } from '../core/lists.rules.ts';
import { Body, EnvName, Limit, Line, Nullable, Sha256, Timestamp, Uuid } from '../../api/commonSchemas.ts';

/** The URL parameter that names a webhook. */
export const WebhookParams = Type.Object({ id: Uuid });

const EventTypes = Type.Array(Type.Enum([...eventTypes]), {
  maxItems: eventTypes.length,
  description: 'Empty for a webhook with the format `standard` that only decides gates of rollouts.',
});
const Format = Type.Enum([...webhookFormats], {
  description:
    'Format of its messages: `standard` sends the event itself, the others suit Slack and Mattermost, Teams or PagerDuty.',
});
const Env = Nullable(EnvName);
const brief = 'True: its messages contain neither the detail nor the output of a report.';
const DeliveryId = Type.String({ pattern: '^msg_[0-9a-f-]{36}$' });

const webhook = {
  id: Uuid,
  name: Type.String(),
  env: Env,
  events: EventTypes,
  format: Format,
  brief: Type.Boolean({ description: brief }),
  origin: Type.String({
    description: 'Origin of its URL; the rest is not shown, because it may contain a credential.',
  }),
  created_at: Timestamp,
  created_by: Type.String(),
  failures: Type.Integer({ description: 'Failed deliveries since the last success.' }),
  error: Nullable(Type.String({ description: 'Why the last delivery failed; null if it succeeded.' })),
  pending: Type.Integer({ description: 'Events that are still to be delivered.' }),
  dead: Type.Integer({ description: 'Events that could not be delivered.' }),
};

/** A webhook; its URL and its secrets are never returned. */
export const Webhook = Type.Object(webhook, { title: 'Webhook' });
export type Webhook = Static<typeof Webhook>;
/** A page of webhooks, by id. */
export const WebhookList = Type.Object(
  { webhooks: Type.Array(Webhook), next: Nullable(Uuid) },
  { title: 'WebhookList' },
);
export type WebhookList = Static<typeof WebhookList>;
/** Filters of a list of webhooks. */
export const WebhookQuery = Body({ env: Type.Optional(EnvName), after: Type.Optional(Uuid), limit: Limit });

/** A new webhook. */
export const NewWebhook = Body({
  name: Line,
  env: Type.Union([EnvName, Type.Null()], { description: 'The environment whose events it gets; null for all.' }),
  events: EventTypes,
  format: Format,
  brief: Type.Optional(Type.Boolean({ description: brief })),
  url: Type.String({
    maxLength: 2048,
    description: 'https, or http on loopback; for PagerDuty with the integration key as its parameter routing_key.',
  }),
});
const Secret = Type.String({ description: 'The secret that signs messages (Standard Webhooks); shown only once.' });
/** A new webhook with its secret. */
export const CreatedWebhook = Type.Object({ ...webhook, secret: Secret }, { title: 'CreatedWebhook' });
export type CreatedWebhook = Static<typeof CreatedWebhook>;
/** A new secret of a webhook. */
export const RotatedSecret = Type.Object(
  { secret: Secret, previous_until: Type.String({ format: 'date-time', description: 'Until when both sign.' }) },
  { title: 'RotatedSecret' },
);
export type RotatedSecret = Static<typeof RotatedSecret>;
/** Result of a test. */
export const WebhookTest = Type.Object(
  { delivered: Type.Boolean(), status: Nullable(Type.Integer()), error: Nullable(Type.String()) },
  { title: 'WebhookTest' },
);
export type WebhookTest = Static<typeof WebhookTest>;

const Bundle = Type.Object({
  sha256: Sha256,
  name: Type.String(),
  version: Type.String(),
  sequence: Type.Integer(),
});

/** The body of a webhook in the format `standard`. */
export const WebhookEvent = Type.Object(
  {
    type: Type.Enum([...eventTypes, 'webhook.test']),
    timestamp: Timestamp,
    data: Type.Object({
      env: Env,
      backend: Nullable(Type.Object({ id: Uuid, site: Type.String(), host: Nullable(Type.String()) })),
      bundle: Nullable(Bundle),
      code: Nullable(
        Type.String({
          description:
            'Code of the refusal or the failure; `RETIRED` where trouble or silence ends because the backend retires.',
        }),
      ),
      reason: Nullable(
        Type.String({
          description: 'Services that failed with their states, and the cause in words of this service.',
        }),
      ),
      detail: Type.Optional(
        Nullable(
          Type.String({
            description:
              'Beginning of the detail of a failed report, in words of the host; at most 501 characters. Missing in old events.',
          }),
        ),
      ),
      output: Type.Optional(
        Nullable(
          Type.String({
            description:
              'Last lines of its output, without control characters: at most ten of 201 characters. Missing in old events.',
          }),
        ),
      ),
      rollout: Nullable(
        Type.Object({
          id: Type.String(),
          failures: Type.Integer(),
          halted_by: Nullable(Type.Enum([...haltReasons])),
          wave: Type.Optional(
            Type.Integer({ description: 'The current wave, from 1; 0 before the first. Missing in old events.' }),
          ),
          waves: Type.Optional(Type.Integer()),
          awaited: Type.Optional(Type.Integer({ description: 'Hosts for which the wave waits.' })),
          excused: Type.Optional(Type.Integer({ description: 'Hosts whose failure is ignored until they succeed.' })),
        }),
      ),
    }),
  },
  {
    title: 'WebhookEvent',
    description: 'Fields that do not apply to the event are null. Names come from operators and hosts.',
  },
);

/** The body of a gate's question. */
export const GateQuestion = Type.Object(
  {
    type: Type.Literal('rollout.gate'),
    timestamp: Timestamp,
    data: Type.Object({
      env: EnvName,
      bundle: Nullable(Bundle),
      rollout: Type.Object({
        id: Uuid,
        wave: Type.Integer({ description: 'The wave that has succeeded, from 1.' }),
        waves: Type.Integer(),
        failures: Type.Integer({ description: 'Backends that have failed, in any wave.' }),
      }),
    }),
  },
  { title: 'GateQuestion' },
);
/** The answer to a gate's question. */
export const GateAnswer = Type.Object(
  {
    pass: Type.Boolean({ description: 'False halts the rollout.' }),
    reason: Type.Optional(Type.String({ description: 'Shown to operators; 253 characters of it are kept.' })),
  },
  { title: 'GateAnswer' },
);

/** An event that could not be delivered. */
export const DeadLetter = Type.Object(
  {
    id: DeliveryId,
    event: WebhookEvent,
    dead_at: Timestamp,
    tries: Type.Integer(),
    error: Nullable(Type.String()),
  },
  { title: 'DeadLetter' },
);
export type DeadLetter = Static<typeof DeadLetter>;

/** A page of events that could not be delivered, newest first. */
export const DeadLetterList = Type.Object(
  {
    deliveries: Type.Array(DeadLetter),
    next: Nullable(Type.String()),
  },
  { title: 'DeadLetterList' },
);
export type DeadLetterList = Static<typeof DeadLetterList>;
/** Limits of a list of dead letters; `before` is the `next` cursor of the previous page. */
export const DeadLetterQuery = Body({ before: Type.Optional(Type.String({ pattern: cursorPattern })), limit: Limit });
/** The dead letter to try again; by default all. */
export const Redelivery = Body({ delivery: Type.Optional(DeliveryId) });
/** The number of deliveries to try again. */
export const Requeued = Type.Object({ queued: Type.Integer() }, { title: 'Requeued' });
