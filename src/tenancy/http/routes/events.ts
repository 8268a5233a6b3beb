import { topics } from '../../rules/changeTopics.ts';
import { openChangeStream } from '../../services/changeStream.ts';
import { answer, eventStream, operatorRoute } from '../operatorRoute.ts';

/** Events for who follows the service live. */
export const eventRoutes = [
  operatorRoute({
    method: 'GET',
    url: '/v1/events',
    role: 'viewer',
    summary: 'Follow what changes, by server-sent events',
    description: [
      'At most once a second: `event: change`, `data: {"topics": ["backends"]}`, with what has changed since the event before:',
      `${topics.join(', ')}. It tells what to look at again and not what it is now; after each connection everything is looked at`,
      'again. Topics of envs that the caller may not see are not told, but that the hosts of any env have told something is. A',
      'comment comes every 15 seconds. The stream ends with the token or session, and with the service.',
    ].join(' '),
    responses: { 200: eventStream },
    act: 'event.follow',
    handle: async (deps, { operator, signal }) => answer(200, await openChangeStream(deps, { operator, signal })),
  }),
];
