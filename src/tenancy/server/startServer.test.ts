import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { createMemorySecretstore } from '../../../fixtures/world/tenancy/memoryPeers.ts';
import { addOperator } from '../../../fixtures/world/tenancy/operatorClient.ts';
import { startService } from '../../../fixtures/world/tenancy/service.ts';
import { httpLimits } from '../http/httpServer.ts';
import { createApp, type RunningServer, startServer } from './startServer.ts';

it('answers started requests before it stops, and no later ones', async () => {
  const begun = Promise.withResolvers<void>();
  const finish = Promise.withResolvers<void>();
  const listSecrets = async () => {
    begun.resolve();
    await finish.promise;
    return [];
  };
  const service = await startService({ deps: { secretstore: { ...createMemorySecretstore(), listSecrets } } });
  const { call: callApi, token } = await addOperator(service);
  await callApi('POST envs', { name: 'eu-1', production: false });
  const server: RunningServer = await startServer(
    (tls) => createApp({ parts: service.deps, tls, limits: httpLimits }),
    { host: '127.0.0.1', port: 0, tls: null, log: service.deps.log },
  );
  const headers = { authorization: `Bearer ${token}` };
  const call = request({ port: server.port, path: '/v1/envs/eu-1/secrets', headers }).end();
  await begun.promise;
  const idle = connect(server.port, '127.0.0.1');
  await once(idle, 'connect');
  const stopped = server.stop();
  await once(idle.resume(), 'close');
  const refused = connect(server.port, '127.0.0.1');
  await expect(once(refused, 'connect')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  finish.resolve();
  const [response] = (await once(call, 'response')) as [NodeJS.ReadableStream & { statusCode: number }];
  expect([response.statusCode, await text(response)]).toEqual([200, '{"secrets":[],"destroy_at":null}']);
  await stopped;
  await service.stop();
});
