import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { startService } from '../../../fixtures/tenancy/service.ts';
import { httpLimits } from './httpLimits.ts';
import { startServer, type RunningServer } from './startServer.ts';
import { answer, operatorRoute } from './operatorRoute.ts';
import { Type } from 'typebox';

it('answers what has begun before it stops, and nothing that comes later', async () => {
  const service = await startService();
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const slow = operatorRoute({
    method: 'GET',
    url: '/v1/slow',
    role: 'viewer',
    summary: 'Take time',
    responses: { 200: Type.Object({}) },
    act: null,
    handle: async () => {
      begun.resolve();
      await finish.promise;
      return answer(200, {});
    },
  });
  const operator = { id: '1', name: 'ada', role: 'admin', envs: null } as const;
  const http = {
    deps: service.deps,
    operatorRoutes: [slow],
    authenticateOperator: async () => operator,
    recordRefusedAct: async () => {},
    limits: httpLimits,
  };
  const server: RunningServer = await startServer(http, { host: '127.0.0.1', port: 0, tlsFiles: null });
  const call = request({ port: server.port, path: '/v1/slow', headers: { authorization: 'Bearer x' } }).end();
  await begun.promise;
  const idle = connect(server.port, '127.0.0.1');
  await once(idle, 'connect');
  const stopped = server.stop();
  await once(idle.resume(), 'close');
  const refused = connect(server.port, '127.0.0.1');
  await expect(once(refused, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  finish.resolve();
  const [response] = (await once(call, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
  expect([response.statusCode, await text(response)]).toEqual([200, '{}']);
  await stopped;
  await service.stop();
});
