/** The head of the OpenAPI document. */
export function documentInfo(version: string) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tenancy service of deployd',
      version,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    components: {
      securitySchemes: {
        operatorToken: { type: 'http', scheme: 'bearer', description: 'Token of an operator.' },
        storeToken: { type: 'http', scheme: 'bearer', description: 'Token of the secretstore that a host has.' },
      },
    },
  } as const;
}
