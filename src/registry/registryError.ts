/** Why a registry did not tell the digest of an image; the message is printable and holds no login. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
}
