/** The shells that can complete what yargs answers. */
export const shells = ["bash", "zsh", "fish"] as const;
