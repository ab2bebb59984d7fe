import { expect } from "chai";
import { KubeError } from "../kube-error.js";
import { kubeErrorOf } from "./foreign-error.js";

function foreign(code: string, message = "what node says"): Error {
  return Object.assign(new Error(message), { code });
}

describe("kubeErrorOf", () => {
  for (const [code, expected, sentence] of [
    ["ECONNREFUSED", "CONNECTION_REFUSED", "nothing listens at host:1"],
    ["ENOTFOUND", "CONNECTION_LOST", "name of host:1 can't be resolved"],
    ["EAI_AGAIN", "CONNECTION_LOST", "can't be resolved"],
    ["EHOSTUNREACH", "CONNECTION_LOST", "host:1 is unreachable"],
    ["ETIMEDOUT", "TIMEOUT", "host:1 did not answer"],
    ["ECONNRESET", "CONNECTION_LOST", "the connection to host:1 broke"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "CONNECTION_LOST", "certificate authority"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "CONNECTION_LOST", "certificate authority"],
    ["CERT_HAS_EXPIRED", "CONNECTION_LOST", "has expired"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "CONNECTION_LOST", "tls-server-name"],
    ["ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED", "CONNECTION_LOST", "client-certificate"],
    ["ERR_SSL_WRONG_VERSION_NUMBER", "PROTOCOL", "does not speak TLS"],
    ["HPE_INVALID_CONSTANT", "PROTOCOL", "not HTTP"],
    ["ERR_HTTP2_ERROR", "PROTOCOL", "not HTTP/2"],
    ["ERR_HTTP2_GOAWAY_SESSION", "CONNECTION_LOST", "GOAWAY"],
    ["ERR_HTTP2_STREAM_ERROR", "CONNECTION_LOST", "what node says"],
    ["EWHATEVER", "CONNECTION_LOST", "what node says"],
  ] as const) {
    it(`maps ${code} to ${expected}, with a message that helps`, () => {
      const cause = foreign(code);
      const error = kubeErrorOf(cause, "host:1");
      expect(error).to.be.instanceOf(KubeError);
      expect(error).to.include({ code: expected, cause });
      expect(error.message).to.include(sentence);
    });
  }

  it("looks into the errors of all addresses where a name has several", () => {
    const cause = new AggregateError([foreign("ECONNREFUSED"), foreign("ECONNREFUSED")]);
    expect(kubeErrorOf(cause, "host:1").code).to.equal("CONNECTION_REFUSED");
  });

  it("leaves our own errors as they are, and accepts values that are not errors", () => {
    const own = new KubeError("TIMEOUT", "late");
    expect(kubeErrorOf(own, "host:1")).to.equal(own);
    expect(kubeErrorOf("text", "host:1").message).to.include("text");
  });
});
