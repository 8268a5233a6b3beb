import { ApiError } from './apiError.ts';

/** Callers that are refused are spread over so many seconds. */
const SPREAD_S = { from: 5, to: 60 };

/** The answer to a caller for whom there is no place; each is told another time to come again. */
export function overloaded(message: string): ApiError {
  const { from, to } = SPREAD_S;
  const retryAfterS = from + Math.floor(Math.random() * (to - from + 1));
  return new ApiError({ status: 503, code: 'OVERLOADED', message, retryAfterS });
}
