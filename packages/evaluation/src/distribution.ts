import { isList, type Value } from "./value.js";

const maxTotalWeight = 2 ** 31 - 1;

interface Bucket {
  readonly variant: Value;
  /** The sum of the weights up to and including this one. */
  readonly end: number;
}

/** Variants, and the share of all hashes that each gets. */
export interface VariantDistribution {
  readonly buckets: readonly Bucket[];
  readonly totalWeight: number;
}

/** Parses `["variant", weight]` lists; undefined if one has another form, or the sum of the weights is too large. */
export function parseDistribution(shares: readonly Value[]): VariantDistribution | undefined {
  const buckets: Bucket[] = [];
  let end = 0;
  for (const share of shares) {
    const [variant, weight] = isList(share) ? share : [];
    if (!isVariant(variant)) return undefined;
    const counted = weightOf(weight ?? null);
    if (counted === undefined) return undefined;
    end += counted;
    buckets.push({ variant, end });
  }
  // A copy has no room for more: of a list that grew, V8 keeps room for sixteen.
  return end > maxTotalWeight ? undefined : { buckets: buckets.slice(), totalWeight: end };
}

/** The variant that a 32-bit hash falls into; null if all weights are zero. */
export function pickVariant({ buckets, totalWeight }: VariantDistribution, hash: number): Value {
  const place = scaled(hash, totalWeight);
  for (const { variant, end } of buckets) if (place < end) return variant;
  return null;
}

/** hash * weight / 2^32, rounded down, in two halves because the product may need 63 bits, more than a number has. */
function scaled(hash: number, weight: number): number {
  const low = Math.floor(((hash & 0xffff) * weight) / 0x10000);
  return Math.floor(((hash >>> 16) * weight + low) / 0x10000);
}

function isVariant(value: Value | undefined): value is string | boolean | number | null {
  return (
    value === null || typeof value === "string" || typeof value === "boolean" || typeof value === "number"
  );
}

/** 1 if absent, 0 if negative; undefined if it is not an integer or is too large. */
function weightOf(weight: Value): number | undefined {
  if (weight === null) return 1;
  if (typeof weight !== "number" || !Number.isInteger(weight)) return undefined;
  return weight > maxTotalWeight || weight < -(2 ** 63) ? undefined : Math.max(0, weight);
}
