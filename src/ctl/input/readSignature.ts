import { isObject } from '../../protocol/jsonFields.ts';
import { readSignatureFile } from '../../signatures/readSignatureFile.ts';
import { SignatureFault } from '../../signatures/signatureFault.ts';
import { usageError } from '../ctlError.ts';

/** Reads the file of a signature, a JSON object; what it says is judged by the service. Throws SIGNATURE_INVALID. */
export function readSignature(file: string): object {
  const json = readJson(file);
  if (isObject(json)) return json;
  throw signatureInvalid(`${file} is no JSON object`);
}

function readJson(file: string): unknown {
  try {
    return readSignatureFile(file);
  } catch (error) {
    if (!(error instanceof SignatureFault)) throw error;
    throw signatureInvalid(error.message);
  }
}

function signatureInvalid(message: string): Error {
  return usageError('SIGNATURE_INVALID', message, 'name a Sigstore bundle, as `deployctl bundle sign` writes it');
}
