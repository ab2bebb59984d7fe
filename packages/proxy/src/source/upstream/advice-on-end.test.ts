import { expect } from "chai";
import { adviceOnEnd } from "./advice-on-end.js";

describe("the advice on the end of an upstream's stream", () => {
  it("advises about the credentials that the upstream has refused", () => {
    const end = { reason: "unauthenticated", message: "who is it?" };
    const advice = (tokenFile: string, clientCertPath: string): string | undefined =>
      adviceOnEnd(end, { tokenFile, clientCertPath });
    expect(advice("/token", "/tls.crt")).to.contain("it does not accept the token in /token: ");
    expect(advice("", "/tls.crt")).to.contain("it does not accept the certificate in /tls.crt");
    expect(advice("", "")).to.contain("set --upstream-token-file, or a client certificate");
  });
});
