const unitMs: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 1e-3,
  n: 1e-6,
};
const pattern = /^(\d{1,8})([HMSmun])$/;

/** The `grpc-timeout` header in milliseconds, with a fraction; undefined if it is not valid. */
export function parseGrpcTimeout(value: string): number | undefined {
  const match = pattern.exec(value);
  if (match === null) return undefined;
  const [, digits = "", unit = ""] = match;
  return Number(digits) * (unitMs[unit] ?? 0);
}
