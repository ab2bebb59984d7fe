import { expect } from "chai";
import { managementPort, sidecarAccount, sourceAdvice, worstSource } from "./ask-sidecar.js";

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

describe("what to do about a source", () => {
  const advice = (...sources: readonly string[]): string =>
    sourceAdvice(worstSource(sidecarAccount(["ready, but flags may be stale", ...sources].join("\n"))) ?? "");

  it("is about the network only where the agent has no connection", () => {
    const well = "source 0 proxy:8015: connected for 3 s";
    const away = "source 1 proxy:8015: disconnected for 3 s, newest flags 9 s old: ";
    expect(advice(well, `${away}unreachable: UNAVAILABLE: connect ECONNREFUSED 10.0.0.1:8015`)).to.contain(
      "NetworkPolicy",
    );
    expect(advice(well, `${away}unreachable: no gRPC server has answered for 10 s`)).to.contain(
      "NetworkPolicy",
    );
    expect(advice(away)).to.contain("NetworkPolicy");
    expect(advice(well, `${away}refused: UNAUTHENTICATED: the token has expired`)).to.contain("credentials");
    for (const other of [
      "unreachable: unable to verify the first certificate",
      "unreachable: Failed to connect; it closes the connection at once: it may take TLS only",
      "unreachable: Name resolution failed for target dns:proxy:8015",
      "misconfigured: UNIMPLEMENTED: 404",
    ])
      expect(advice(`${away}${other}`), other).to.contain("mend what that line says");
    expect(advice(`${well}: the proxy is refused where the flags come from`)).to.contain(
      "mend what that line",
    );
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
