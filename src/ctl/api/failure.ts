import { parseErrorBody } from '../../protocol/errorBody.ts';
import { isObject } from '../../protocol/jsonFields.ts';
import { describeErrorCode, errorClassOf } from '../../platform/errors/errorCodes.ts';
import { CtlError, exits, type BundleRefusal, type Exit } from '../ctlError.ts';
import { remedyOf } from './remedies.ts';

/** The error of an answer other than 2xx: its own code and message where it has an error body. */
export function answerError(status: number, body: unknown): CtlError {
  const { code, text } = parseErrorBody(body);
  const known = code ?? 'PROTOCOL_INVALID';
  return new CtlError({
    exit: exitOf(status),
    code: known,
    message: text ?? `the service answered ${status}`,
    ...remedyOf(known, status),
    refusals: refusalsOf(body),
  });
}

/** The error of a call that got no answer; `code` is an errno or the like. */
export function transportError(code: string, origin: string): CtlError {
  const isTemporary = errorClassOf(code) === 'temporary';
  const name = { untrusted: 'TLS_UNTRUSTED', protocol: 'PROTOCOL_INVALID', temporary: 'UNREACHABLE', bug: 'INTERNAL' };
  const known = name[errorClassOf(code)];
  const exit = isTemporary ? exits.temporary : exits.failed;
  return new CtlError({ exit, code: known, message: `${origin}: ${describeErrorCode(code)}`, ...remedyOf(known, 0) });
}

/** The error of a success without the object that the API promises. */
export function notOurAnswer(origin: string): CtlError {
  const message = `${origin}: the answer is no JSON object: is this the address of the tenancy service?`;
  return new CtlError({ exit: exits.failed, code: 'PROTOCOL_INVALID', message });
}

/** True for a status that another try may not get. */
export function isTemporary(status: number): boolean {
  return [408, 425, 429].includes(status) || status >= 500;
}

function exitOf(status: number): Exit {
  if (status === 400) return exits.usage;
  if (status === 401 || status === 403) return exits.notPermitted;
  return isTemporary(status) ? exits.temporary : exits.failed;
}

function refusalsOf(body: unknown): BundleRefusal[] {
  const error = isObject(body) && isObject(body.error) ? body.error : {};
  const refusals = Array.isArray(error['refusals']) ? (error['refusals'] as unknown[]) : [];
  return refusals.filter(isRefusal);
}

function isRefusal(value: unknown): value is BundleRefusal {
  return isObject(value) && typeof value.code === 'string' && typeof value.detail === 'string' && hasFaults(value);
}

function hasFaults({ faults = [] }: Record<string, unknown>): boolean {
  const isFault = (fault: unknown) =>
    isObject(fault) && typeof fault.text === 'string' && typeof fault.cure === 'string';
  return Array.isArray(faults) && faults.every(isFault);
}
