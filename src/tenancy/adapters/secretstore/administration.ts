import { dataOf } from './answerFields.ts';
import { createSecretstoreClient, type SecretstoreAddress } from './secretstoreClient.ts';

/** What the setup does at the secretstore, by an administrator's token. Each call throws `PeerError` if it is refused. */
export interface Administration {
  /** What is at a path of the API, null for nothing. */
  read: (path: string) => Promise<Record<string, unknown> | null>;
  write: (path: string, fields: object) => Promise<void>;
  close: () => void;
}

/** Administers a secretstore; the token is kept until this is closed, in memory only. */
export function openAdministration(address: SecretstoreAddress, token: string): Administration {
  const client = createSecretstoreClient(address);
  return {
    read: async (path) => {
      const what = `read of ${path}`;
      const { status, json } = await client.call({ what, method: 'GET', path, token, accepts: [404] });
      return status === 404 ? null : dataOf(json, what);
    },
    write: async (path, fields) => {
      await client.call({ what: `write of ${path}`, method: 'POST', path, token, body: fields });
    },
    close: client.close,
  };
}
