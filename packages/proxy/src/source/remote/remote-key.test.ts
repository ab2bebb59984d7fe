import { isTopicKey } from "@bunting/protocol";
import { expect } from "chai";
import { featureFlagOf, isRemoteKey, remoteKeyOf } from "./remote-key.js";

const provider = { type: "http", uri: "https://flags.test/a" } as const;

describe("the key of a remote", () => {
  it("names its FeatureFlag, and is no topic that a subscriber can ask for", () => {
    const key = remoteKeyOf("demo/flags", provider);
    expect(isRemoteKey(key)).to.equal(true);
    expect(featureFlagOf(key)).to.equal("demo/flags");
    expect(isTopicKey(key)).to.equal(false);
  });

  it("differs with what is read, and not with anything else", () => {
    const key = remoteKeyOf("demo/flags", provider);
    expect(remoteKeyOf("demo/flags", { ...provider, selector: "" })).to.equal(key);
    const others = [
      remoteKeyOf("demo/other", provider),
      remoteKeyOf("other/flags", provider),
      remoteKeyOf("demo/flags", { ...provider, type: "grpc" }),
      remoteKeyOf("demo/flags", { ...provider, uri: "https://flags.test/b" }),
      remoteKeyOf("demo/flags", { ...provider, selector: "s" }),
    ];
    expect(new Set([key, ...others]).size).to.equal(6);
  });

  it("is none if it names nothing that Kubernetes would accept", () => {
    const digest = "0".repeat(32);
    for (const text of [
      "demo/flags",
      `remote:demo:${digest}/Flags`,
      `remote:De mo:${digest}/flags`,
      "remote:demo:0/flags",
      `remote:demo:${digest}/a/b`,
    ])
      expect(isRemoteKey(text), text).to.equal(false);
  });
});
