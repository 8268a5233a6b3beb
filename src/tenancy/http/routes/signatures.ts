import { addSignature, listSignatures } from '../../services/bundles/signatures.ts';
import { answer, operatorRoute } from '../operatorRoute.ts';
import { Bundle, BundleParams, Signature, SignatureList } from '../schemas/bundles.ts';

/** Signatures of bundles, which others have made: the service signs for nobody. */
export const signatureRoutes = [
  operatorRoute({
    method: 'POST',
    url: '/v1/bundles/:sha256/signatures',
    role: 'deployer',
    summary: 'Add a signature to a bundle; the same one again does no harm',
    params: BundleParams,
    body: Signature,
    responses: { 201: Bundle, 200: Bundle },
    errors: { 404: 'BUNDLE_NOT_FOUND', 422: 'SIGNATURE_REFUSED' },
    act: 'signature.add',
    handle: async (deps, { operator, caller, params: { sha256 }, body: signature }) => {
      const { bundle, created } = await addSignature(deps, { operator, caller, sha256, signature });
      return answer(created ? 201 : 200, bundle);
    },
  }),
  operatorRoute({
    method: 'GET',
    url: '/v1/bundles/:sha256/signatures',
    role: 'viewer',
    summary: 'List the signatures of a bundle, the oldest first',
    params: BundleParams,
    responses: { 200: SignatureList },
    errors: { 404: 'BUNDLE_NOT_FOUND' },
    act: 'signature.list',
    handle: async (deps, { operator, params: { sha256 } }) =>
      answer(200, { signatures: await listSignatures(deps, { operator, sha256 }) }),
  }),
];
