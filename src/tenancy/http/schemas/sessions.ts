import { Type } from 'typebox';
import { EnvName, Nullable, Timestamp, Uuid } from './common.ts';
import { Role } from './operators.ts';

/** A session of the URL. */
export const SessionParams = Type.Object({ id: Uuid });

/** Sessions that go on. */
export const SessionList = Type.Object(
  {
    sessions: Type.Array(
      Type.Object(
        {
          id: Uuid,
          name: Type.String({ description: 'As in the audit log; not unique.' }),
          subject: Type.String({ description: 'The person as the OpenID provider knows them.' }),
          role: Nullable(Role),
          envs: Nullable(Type.Array(EnvName, { description: 'Null for all; none where the groups have no role.' })),
          address: Type.String(),
          created_at: Timestamp,
          last_used_at: Timestamp,
          expires_at: Timestamp,
          current: Type.Boolean({ description: 'Whether it is the session of this call.' }),
        },
        { title: 'Session' },
      ),
    ),
  },
  { title: 'SessionList' },
);
