import pg from 'pg';
import { statementNameOf } from './statementNames.ts';

type Query = (...all: unknown[]) => never;

/** A connection to PostgreSQL on which the server parses and plans the statements of `prepareQuery` only once. */
export class PostgresClient extends pg.Client {
  override query(...[text, values, ...rest]: Parameters<Query>): never {
    const send = super.query.bind(this) as Query;
    const name = typeof text === 'string' ? statementNameOf(text) : undefined;
    return name === undefined ? send(text, values, ...rest) : send({ name, text, values }, ...rest);
  }
}
