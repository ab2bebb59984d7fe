/** A variable of the Deployment. */
export function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

export const namespace = setting("POD_NAMESPACE");
