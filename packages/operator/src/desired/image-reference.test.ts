import { readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "chai";
import {
  imagePattern,
  imageReference,
  imageRevision,
  isImageOfContainer,
  isImageReference,
} from "./image-reference.js";

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

describe("isImageReference", () => {
  const digest = `sha256:${"a1".repeat(32)}`;

  it("takes images with a tag or a digest", () => {
    for (const image of [
      ...["agent:1", "registry.example/agent:1.2-rc_3", "localhost:5000/a/b/c:latest"],
      ...[`registry.example/a_b/c__d/e-f.g@${digest}`, `agent:1@${digest}`, "[fd00::1]:5000/agent:1"],
    ])
      expect(isImageReference(image), image).to.equal(true);
  });

  const hostile = [
    ...[
      "",
      " ",
      "Agent:1",
      "registry.example/Agent:1",
      "a b:1",
      " agent:1",
      "agent:1 ",
      "agent:1\n",
      "agent\n:1",
    ],
    ...[
      "agent:",
      "agent:1:2",
      "agent:-1",
      ":1",
      "agent:1/2",
      "agent:a/b",
      `agent:${"1".repeat(129)}`,
      "agent:1\0",
    ],
    ...[
      "--help",
      "-v:1",
      "--image=agent:1",
      "../agent:1",
      "/agent:1",
      "a//b:1",
      "https://registry.example/agent:1",
    ],
    ...["agent@sha256:12", `agent@${digest}0`, `agent@${digest.slice(1)}`, `agent@${digest.toUpperCase()}`],
    ...[
      `agent@sha512:${"a1".repeat(64)}`,
      `a/${"b".repeat(5_000)}:1`,
      `a:1@${digest}@${digest}`,
      "agent:1\u2028",
    ],
    ...["[fd00::1]agent:1", "[]/agent:1", "agent:\u0661", "\uff41gent:1", "$(touch x):1", "agent;id:1"],
  ];

  it("refuses what is none", () => {
    for (const text of ["agent", "registry.example/agent", ...hostile])
      expect(isImageReference(text), JSON.stringify(text)).to.equal(false);
  });

  it("is no image of a container either, but without a tag it is", () => {
    // An image called 2, of the registry at port 1.
    const others = hostile.filter((text) => text !== "agent:1/2");
    for (const text of others) expect(isImageOfContainer(text), JSON.stringify(text)).to.equal(false);
    for (const text of ["agent", "registry.example:5000/agent", "agent:1", `agent@${digest}`])
      expect(isImageOfContainer(text), text).to.equal(true);
  });

  it("is what the resource type has, too", () => {
    const file = path.join(import.meta.dirname, "../../../../deploy/crds/agentrollouts.yaml");
    expect(readFileSync(file, "utf8")).to.contain(`self.matches('${imagePattern}')`);
  });
});
