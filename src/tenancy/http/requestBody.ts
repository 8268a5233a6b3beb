import type { FastifyRequest } from 'fastify';

/** True if a body may follow the head of a request. */
export function mayHaveBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

/** The most bytes that are left to come of a body: none once it has been read. */
export function bodyLeft({ raw, headers }: FastifyRequest): number {
  if (raw.readableEnded) return 0;
  // What was given up half-way is not read on, and would hold up the next request on the connection.
  if (raw.destroyed) return Infinity;
  return headers['transfer-encoding'] === undefined ? Number(headers['content-length']) : Infinity;
}
