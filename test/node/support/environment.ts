/** What `npm run test:node` says to the tests. */
export function environment(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: run \`npm run test:node\``);
  return value;
}
