import { expect } from "chai";
import { imageReference, imageRevision } from "./image-reference.js";

const digest = `sha256:${"0123456789abcdef".repeat(4)}`;

describe("imageReference", () => {
  for (const [image, tag, expected] of [
    ["registry.example:5000/p", "v1", "registry.example:5000/p:v1"],
    ["registry.example/p", digest, `registry.example/p@${digest}`],
    [`registry.example/p@${digest}`, "", `registry.example/p@${digest}`],
  ] as const) {
    it(`of ${image} and ${tag === "" ? "no tag" : tag} is ${expected}`, () => {
      expect(imageReference(image, tag)).to.equal(expected);
    });
  }
});

describe("imageRevision", () => {
  for (const [image, expected] of [
    ["registry.example:5000/p:v1.2", "v1.2"],
    ["registry.example:5000/p", "latest"],
    [`registry.example/p:v1@${digest}`, "sha256-0123456789abcdef0123456789abcdef0123456789abcdef01234567"],
    [`p:${"x".repeat(70)}`, "x".repeat(63)],
    [`p:${"x".repeat(62)}-y`, "x".repeat(62)],
  ] as const) {
    it(`of ${image} is ${expected}`, () => {
      expect(imageRevision(image)).to.equal(expected);
    });
  }
});
