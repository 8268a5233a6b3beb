import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { scriptPath, stylePath } from '../people/consolePaths.rules.ts';
import type { BrowserProgram } from './browserProgram.ts';

/** Serves script and style of the console; a browser keeps what its page has named by its version. */
export function addAssets(scope: FastifyInstance, load: () => Promise<BrowserProgram>, options: object): void {
  const serve = (path: string, type: string, textOf: (program: BrowserProgram) => string) => {
    scope.get<{ Querystring: { v?: string } }>(path, options, async (request, reply) => {
      const program = await load();
      keepVersion(request, reply, program.version);
      return reply.type(`${type}; charset=utf-8`).send(textOf(program));
    });
  };
  serve(scriptPath, 'text/javascript', ({ script }) => script);
  serve(stylePath, 'text/css', ({ style }) => style);
}

/** Another version is answered too, while instances of two versions run side by side, but not kept. */
function keepVersion(
  request: FastifyRequest<{ Querystring: { v?: string } }>,
  reply: FastifyReply,
  version: string,
): void {
  if (request.query.v === version) void reply.header('cache-control', 'public, max-age=31536000, immutable');
}
