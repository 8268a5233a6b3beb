import createFactory from '@fastify/fast-json-stringify-compiler';
import type { FastifySerializerCompiler } from 'fastify';
import type { TSchema } from 'typebox';

type Serialize = ReturnType<FastifySerializerCompiler<TSchema>>;

const compile = createFactory()();
/** By the text of the schema. */
const compiled = new Map<string, Serialize>();

/** Compiles schemas of answers, as Fastify does; those that are equal, as errors of all routes, only once. */
export const compileSerializer: FastifySerializerCompiler<TSchema> = ({ schema, method, url, httpStatus = '' }) => {
  const text = JSON.stringify(schema);
  const serialize = compiled.get(text) ?? compile({ schema, method, url, httpStatus });
  compiled.set(text, serialize);
  return serialize;
};
