/** What each image may add to its base, packed and unpacked, in MiB. */
export const imageBudgetsMiB = { agent: 3, proxy: 8 } as const;
