/** Why one signature is not accepted; the message is the reason, in printable text. */
export class SignatureFault extends Error {
  override name = 'SignatureFault';
}
