/** Label of a container: a digest of what its service mounts and reads, by a key of this host (spec §12). */
export const contentLabel = 'deployd.content';
