/** What each image may add to its base, packed and unpacked, in MiB. One of the agent's is V8's code cache, for a start in three quarters of the time. */
export const imageBudgetsMiB = { agent: 4, proxy: 8, operator: 3.5 } as const;
