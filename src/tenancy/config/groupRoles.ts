import { envId, type ValueType } from '../../config/valueTypes.ts';

const maxRoles = 100;
const name = { type: 'string', pattern: '^[^\\p{Cc}]{1,253}$' };

/** The roles of groups. */
export const groupRoles: ValueType = {
  schema: {
    type: 'array',
    maxItems: maxRoles,
    uniqueItems: true,
    items: {
      type: 'object',
      additionalProperties: false,
      required: ['group', 'role'],
      properties: {
        group: name,
        role: { type: 'string', enum: ['viewer', 'deployer', 'admin'] },
        envs: { type: 'array', items: envId.schema, minItems: 1, maxItems: 100, uniqueItems: true },
      },
    },
  },
  allowed: `a list of at most ${maxRoles} of {group, role, envs}: role is one of viewer, deployer, admin; envs, which may be left out, are names of envs`,
};

/** Scopes of OAuth, none twice. */
export const scopes: ValueType = {
  schema: { type: 'array', items: { type: 'string', pattern: '^[!#-\\[\\]-~]+$' }, minItems: 1, uniqueItems: true },
  allowed: 'a list of scopes, none twice',
};
