/** Content types of frames that a client needs which only dials. */
export const contentType = {
  hello: 0,
  result: 2,
  latency: 3,
  connect: 60_783,
  stateConnected: 60_784,
  stateClosed: 60_785,
  data: 60_786,
  inspectRequest: 60_798,
  inspectResponse: 60_799,
} as const;

/** Header keys of frames. */
export const headerKey = {
  connectionId: 0,
  replyFor: 1,
  resultSuccess: 2,
  helloRejectClass: 13,
  timestamp: 128,
  connId: 1000,
  seq: 1001,
  sessionToken: 1002,
  publicKey: 1003,
  flags: 1010,
  appData: 1011,
  errorCode: 1014,
  connType: 1022,
  connectionMarker: 1025,
  circuitId: 1026,
  structuredError: 1033,
} as const;

/** Bits of the header `flags`. */
export const headerFlag = { fin: 1, multipart: 4, multipartMessage: 16 } as const;

/** Values of `errorCode` that concern this client rather than the network. */
export const errorCode = {
  invalidApiSession: 2,
  invalidSession: 3,
  wrongSessionType: 4,
  routerNotAllowed: 5,
  invalidService: 6,
  invalidTerminator: 8,
  accessDenied: 14,
  postureFailed: 15,
} as const;
