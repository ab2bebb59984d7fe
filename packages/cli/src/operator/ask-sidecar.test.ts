import { expect } from "chai";
import { managementPort, sidecarAccount } from "./ask-sidecar.js";

describe("sidecarAccount", () => {
  it("takes the sidecar's word for whether it is current, and no control characters", () => {
    expect(sidecarAccount("ready\nsource 0 proxy:8015: connected for 3 s\n")).to.deep.equal({
      kind: "told",
      isCurrent: true,
      lines: ["ready", "source 0 proxy:8015: connected for 3 s"],
    });
    const account = sidecarAccount("ready, but flags may be stale\nsource 0: \u001b[2Jdisconnected");
    expect(account).to.deep.include({ kind: "told", isCurrent: false });
    expect(account.kind === "told" && account.lines.join("")).to.not.contain("\u001b");
  });

  it("has none of a flagd, which says nothing", () => {
    expect(sidecarAccount("").kind).to.equal("silent");
  });
});

describe("managementPort", () => {
  it("is that of the arguments, or the usual one", () => {
    const of = (...args: readonly string[]): number => managementPort({ name: "flagd", args });
    expect(of("start", "--management-port", "9014", "--port", "8013")).to.equal(9014);
    expect(of("start")).to.equal(8014);
    expect(of("start", "--management-port")).to.equal(8014);
  });
});
