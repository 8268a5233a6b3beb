/**
 * Headers of every page: nothing is loaded from elsewhere, no script or style stands in a page, nobody frames it, and no
 * cache keeps it. `same-origin` and not `no-referrer`, with which browsers would send forms without their `Origin`.
 */
export const securityHeaders = {
  'content-security-policy': [
    "default-src 'none'",
    ...["script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'", "form-action 'self'"],
    ...["base-uri 'none'", "frame-ancestors 'none'"],
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
};
