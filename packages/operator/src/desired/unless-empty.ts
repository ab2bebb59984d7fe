/** The fields that are not empty: the API server stores no empty ones, so they would seem to be missing for ever. */
export function unlessEmpty<Fields extends Readonly<Record<string, object>>>(
  fields: Fields,
): Partial<Fields> {
  const present = Object.entries(fields).filter(([, value]) => Object.keys(value).length > 0);
  return Object.fromEntries(present) as Partial<Fields>;
}
