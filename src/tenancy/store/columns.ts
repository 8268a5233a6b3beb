/** Text of a JSON value of type T. */
export type Json<T> = string & { readonly json?: T };

/** What an operator says of a backend, to choose it by. */
export type Labels = Record<string, string>;
