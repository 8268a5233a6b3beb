/** Most signatures of one bundle, and the bytes of each as JSON, that are kept, handed out and looked at (spec §18). */
export const signatureLimits = { count: 64, bytes: 65_536 } as const;
