/** True when a mount of `source` exposes the directory, a part of it, or a directory above it. */
export function exposesDirectory(source: string, directory: string): boolean {
  return isWithin(source, directory) || isWithin(directory, source);
}

/** True when a path is the directory or is below it. */
export function isWithin(path: string, directory: string): boolean {
  return withTrailingSlash(path).startsWith(withTrailingSlash(directory));
}

function withTrailingSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}
