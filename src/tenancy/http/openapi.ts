import { sessionCookie } from './cookies.ts';
import { documentedWebhooks } from './documentedWebhooks.ts';

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
        'What the tenancy service answers to deploy agents, operators and the secretstore. Bodies are JSON in UTF-8, times',
        'are RFC 3339 in UTC. A bearer is taken from the Authorization header only; with one, no cookie counts. Unknown fields of operators are refused,',
        'those of agents ignored; agents ignore fields of answers that they do not know. X-Request-Id of a request, a word of',
        'at most 64 letters, digits, _ and -, is written to the logs.',
      ].join(' '),
    },
    servers: [{ url: 'https://{tenancy}', variables: { tenancy: { default: 'tenancy.deploy' } } }],
    tags: [
      { name: 'public', description: 'Answered without a bearer.' },
      { name: 'agent', description: "Called by agents, with their host's token of the secretstore as bearer." },
      {
        name: 'operators',
        description: 'Called by operators, with their own token as bearer or by the session of a page.',
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
