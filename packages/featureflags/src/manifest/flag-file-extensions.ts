/** What the name of a file that may hold flags ends with. */
export const flagFileExtensions: ReadonlySet<string> = new Set([".yaml", ".yml", ".json"]);
