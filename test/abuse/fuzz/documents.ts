import { createHash } from "node:crypto";
import { compareUtf8, digestBytes, DocumentDigest } from "@bunting/protocol";
import { mutateBytes } from "./mutate-bytes.js";
import { mutateJson } from "./mutate-json.js";
import type { Random } from "../../../bench/fixtures/random.js";

/** A document that uses most of what flagd knows; mutations begin here. */
export const exampleDocument = {
  flags: {
    plain: {
      state: "ENABLED",
      variants: { on: true, off: false },
      defaultVariant: "on",
      metadata: { a: "b", n: 1 },
    },
    text: {
      state: "ENABLED",
      variants: { red: "f00", green: "0f0" },
      defaultVariant: "red",
      targeting: { if: [{ $ref: "shared" }, "green", { "==": [{ var: "a" }, 1] }, "red", null] },
    },
    split: {
      state: "ENABLED",
      variants: { a: 1, b: 2.5 },
      defaultVariant: "a",
      targeting: {
        fractional: [{ cat: [{ var: "$flagd.flagKey" }, { var: "targetingKey" }] }, ["a", 50], ["b", 50]],
      },
    },
    version: {
      state: "DISABLED",
      variants: { x: { deep: [1, { y: null }] }, z: {} },
      defaultVariant: "x",
      targeting: {
        if: [
          { sem_ver: [{ var: "v" }, ">=", "1.2.3"] },
          "x",
          { starts_with: [{ var: "s" }, "ab"] },
          "z",
          "x",
        ],
      },
    },
    code: { state: "ENABLED", variants: { only: 0 }, defaultVariant: null, targeting: {} },
  },
  $evaluators: { shared: { in: [{ var: "email" }, ["a@b.c", { var: "a.b" }]] } },
  metadata: { flagSetId: "set", version: 7, isTest: true },
};

export const exampleContext = {
  targetingKey: "user-1",
  email: "a@b.c",
  a: { b: [1, 2, { c: null }] },
  v: "1.2.3",
  s: "abc",
};

/** The text of a flag document, mutated in its tree or in its bytes. */
export function randomDocument(random: Random): Buffer {
  const text = Buffer.from(
    random.chance(0.1) ? JSON.stringify(exampleDocument) : mutateJson(random, exampleDocument),
  );
  return random.chance(0.15) ? mutateBytes(random, text) : text;
}

/** A manifest of a FeatureFlag with a mutated document: JSON, which is YAML too. */
export function randomManifest(random: Random, name: string): Buffer {
  const manifest = {
    apiVersion: "core.openfeature.dev/v1beta1",
    kind: "FeatureFlag",
    metadata: { name, namespace: "default", annotations: { a: "b" } },
    spec: { flagSpec: exampleDocument },
  };
  if (random.chance(0.3)) {
    const text = Buffer.from(mutateJson(random, manifest));
    return random.chance(0.3) ? mutateBytes(random, text) : text;
  }
  const { spec, ...rest } = manifest;
  return Buffer.from(
    `{${JSON.stringify(rest).slice(1, -1)},"spec":{"flagSpec":${mutateJson(random, spec.flagSpec)}}}`,
  );
}

/** The digest of a document in bunting.sync.v1, where it has one: a snapshot with another digest is refused before its flags are read. */
export function digestOf(document: Buffer): Buffer {
  try {
    const {
      flags = {},
      metadata,
      $evaluators,
    } = JSON.parse(document.toString()) as Partial<typeof exampleDocument>;
    const digest = new DocumentDigest();
    for (const [key, flag] of Object.entries(flags).sort(([a], [b]) => compareUtf8(a, b))) {
      digest.add(key, createHash("sha256").update(JSON.stringify(flag)).digest("hex"));
    }
    return digest.finish(metadata && JSON.stringify(metadata), $evaluators && JSON.stringify($evaluators));
  } catch {
    return Buffer.alloc(digestBytes);
  }
}
