import { expect } from "chai";
import type { IncomingMessage } from "node:http";
import { createCors } from "./cors.js";

function request(method: string, headers: Readonly<Record<string, string>>): IncomingMessage {
  return { method, headers } as unknown as IncomingMessage;
}

/** The origin that is allowed to read the answer to a POST from another one. */
function allowed(origins: readonly string[], origin: string): string | undefined {
  return createCors(origins).headers(request("POST", { origin }))["access-control-allow-origin"];
}

describe("CORS", () => {
  it("allows all origins if none is named, or *", () => {
    for (const origins of [[], ["*"], ["https://a.example", "*"]]) {
      expect(allowed(origins, "https://any.example")).to.equal("*");
      expect(allowed(origins, "null")).to.equal("*");
    }
  });

  it("allows named origins in any case, and those of a pattern, and no others", () => {
    const origins = ["https://A.example", "https://*.b.example"];
    for (const origin of [
      "https://a.example",
      "HTTPS://A.EXAMPLE",
      "https://x.b.example",
      "https://x.y.b.example",
    ]) {
      expect(allowed(origins, origin)).to.equal(origin);
    }
    for (const origin of [
      "https://b.example",
      "http://a.example",
      "https://a.example:8443",
      "https://a.example/",
      "https://a.example.evil",
      "*",
      "null",
    ]) {
      expect(allowed(origins, origin)).to.equal(undefined);
    }
    expect(allowed(["https://a*a"], "https://a"), "a prefix and a suffix that overlap").to.equal(undefined);
  });

  it("adds vary to every answer, and what scripts may read to those that may be read", () => {
    const cors = createCors(["https://a.example"]);
    expect(cors.headers(request("POST", {}))).to.deep.equal({ vary: "Origin" });
    expect(cors.headers(request("POST", { origin: "https://b.example" }))).to.deep.equal({ vary: "Origin" });
    expect(cors.headers(request("FOO", { origin: "https://a.example" }))).to.deep.equal({ vary: "Origin" });
    const headers = cors.headers(request("GET", { origin: "https://a.example" }));
    expect(headers).to.include({ vary: "Origin", "access-control-allow-origin": "https://a.example" });
    expect(headers["access-control-expose-headers"]?.split(", ")).to.include("Grpc-Status");
  });

  it("answers preflights with the method and the headers that were asked for", () => {
    const cors = createCors([]);
    expect(
      cors.preflight(
        request("OPTIONS", {
          origin: "https://a.example",
          "access-control-request-method": "POST",
          "access-control-request-headers": "content-type,flagd-selector",
        }),
      ),
    ).to.deep.equal({
      vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
      "access-control-allow-origin": "*",
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "content-type,flagd-selector",
    });
    for (const headers of [
      { "access-control-request-method": "POST" },
      { origin: "https://a.example", "access-control-request-method": "TRACE" },
    ]) {
      expect(cors.preflight(request("OPTIONS", headers))).to.deep.equal({
        vary: "Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
      });
    }
    expect(cors.preflight(request("OPTIONS", { origin: "https://a.example" }))).to.equal(undefined);
    expect(cors.preflight(request("POST", { "access-control-request-method": "POST" }))).to.equal(undefined);
  });
});
