/** True for a host name of a URL that never leaves this host: `localhost`, 127.0.0.0/8 and `[::1]`. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname);
}
