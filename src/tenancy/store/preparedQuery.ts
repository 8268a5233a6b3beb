import { sql, type Compilable, type CompiledQuery, type RawBuilder } from 'kysely';
import type { Store } from './openStore.ts';
import { nameStatement } from './statementNames.ts';

/** Stands for a parameter in a statement until it is executed. */
class Parameter {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

/** Makes the place of a parameter in a statement. */
export type ParameterOf<P> = <Name extends keyof P & string>(name: Name) => RawBuilder<P[Name]>;

/**
 * A statement for the calls of hosts, which is built and compiled once for each store instead of at each execution; within a
 * transaction it is built anew.
 */
export function prepareQuery<P extends object, Row>(
  build: (store: Store, parameter: ParameterOf<P>) => Compilable<Row>,
): (store: Store, parameters: P) => ReturnType<typeof execute<Row>> {
  const compiled = new WeakMap<Store, CompiledQuery<Row>>();
  const compile = (store: Store) => {
    const query = build(store, (name) => sql.val(new Parameter(name)) as never).compile();
    compiled.set(store, query);
    nameStatement(query.sql);
    return query;
  };
  return (store, parameters) => {
    const query = compiled.get(store) ?? compile(store);
    const values = query.parameters.map((value) =>
      value instanceof Parameter ? parameters[value.name as keyof P] : value,
    );
    return execute(store, { ...query, parameters: values });
  };
}

function execute<Row>(store: Store, query: CompiledQuery<Row>) {
  return store.executeQuery<Row>(query);
}
