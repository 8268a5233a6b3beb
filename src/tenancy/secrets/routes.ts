import type { SecretDependencies } from './secrets.ts';
import { viewBundle } from '../bundles/bundleList.ts';
import { EnvParams } from '../envs/envSchemas.ts';
import { answer, noContent, routesFor } from '../http/operatorRoute.ts';
import { SecretData, SecretList, SecretParams, SecretsData, SecretVersion, SecretVersions } from './secretSchemas.ts';
import { deleteSecret, listSecrets, secretPath, setSecrets } from './secrets.ts';

const route = routesFor<SecretDependencies>();
const setErrors = {
  404: 'ENV_NOT_FOUND',
  409: 'SECRETS_PENDING, SECRETS_DOOMED, DESIRED_CHANGED, ROLLOUT_ACTIVE, SEQUENCE_EXHAUSTED, SECRETSTORE_OUTDATED',
  503: 'OVERLOADED, PEER_UNAVAILABLE, DISK_FULL, ARCHIVE_UNCHECKED, BUNDLE_MISSING, BUNDLE_DAMAGED',
};

/** Routes of secrets. Values pass through the service and are never returned. */
export const secretRoutes = [
  route({
    method: 'GET',
    url: '/v1/envs/:env/secrets',
    role: 'viewer',
    summary: 'List the names of the secrets of an environment',
    params: EnvParams,
    responses: { 200: SecretList },
    errors: { 404: 'ENV_NOT_FOUND' },
    act: 'secret.list',
    handle: async (deps, { params }) => answer(200, await listSecrets(deps, params.env)),
  }),
  route({
    method: 'PUT',
    url: '/v1/envs/:env/secrets/:key',
    role: 'deployer',
    summary: 'Write a new version of a secret, and deploy it where the desired bundle reads it',
    params: SecretParams,
    body: SecretData,
    responses: { 200: SecretVersion },
    errors: { ...setErrors, 409: `${setErrors[409]}, SECRET_CHANGED` },
    act: 'secret.set',
    target: ({ params }) => secretPath(params),
    noStore: true,
    handle: async (deps, { caller, params: { env, key }, body }) => {
      const { secrets, bundle, warnings } = await setSecrets(deps, {
        ...{ caller, env, secrets: { [key]: body.data }, ifVersion: body.if_version },
        keepsFields: body.keep_fields === true,
        overridesRollout: body.override_rollout === true,
      });
      const [written = { path: '', version: 0 }] = secrets;
      return answer(200, { ...written, bundle: bundle && (await viewBundle(deps.store, bundle)), warnings });
    },
  }),
  route({
    method: 'PUT',
    url: '/v1/envs/:env/secrets',
    role: 'deployer',
    summary: 'Write new versions of several secrets, and deploy them together where the desired bundle reads them',
    params: EnvParams,
    body: SecretsData,
    responses: { 200: SecretVersions },
    errors: setErrors,
    act: 'secret.set',
    target: ({ params: { env } }) => secretPath({ env, key: '*' }),
    noStore: true,
    handle: async (deps, { caller, params: { env }, body }) => {
      const { bundle, ...written } = await setSecrets(deps, {
        ...{ caller, env, secrets: body.secrets, keepsFields: body.keep_fields === true },
        overridesRollout: body.override_rollout === true,
      });
      return answer(200, { ...written, bundle: bundle && (await viewBundle(deps.store, bundle)) });
    },
  }),
  route({
    method: 'DELETE',
    url: '/v1/envs/:env/secrets/:key',
    role: 'admin',
    summary: 'Destroy all versions of a secret',
    params: SecretParams,
    responses: { 204: null },
    errors: { 404: 'ENV_NOT_FOUND, SECRET_NOT_FOUND' },
    act: 'secret.delete',
    target: ({ params }) => secretPath(params),
    handle: async (deps, { caller, params: { env, key } }) => {
      await deleteSecret(deps, { caller, env, key });
      return noContent;
    },
  }),
];
