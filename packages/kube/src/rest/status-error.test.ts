import { expect } from "chai";
import { errorOfStatus, statusError } from "./status-error.js";

const nowMs = Date.parse("2026-11-21T07:00:00Z");

function statusOf(code: number, reason?: string, more: object = {}): string {
  return JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    message: "what it says",
    code,
    reason,
    ...more,
  });
}

describe("statusError", () => {
  for (const [status, reason, code] of [
    [401, "Unauthorized", "UNAUTHORIZED"],
    [403, "Forbidden", "FORBIDDEN"],
    [404, "NotFound", "NOT_FOUND"],
    [409, "Conflict", "CONFLICT"],
    [409, "AlreadyExists", "CONFLICT"],
    [410, "Expired", "EXPIRED"],
    [410, "Gone", "EXPIRED"],
    [400, "BadRequest", "INVALID"],
    [422, "Invalid", "INVALID"],
    [405, "MethodNotAllowed", "INVALID"],
    [429, "TooManyRequests", "THROTTLED"],
    [500, "InternalError", "SERVER_ERROR"],
    [503, "ServiceUnavailable", "SERVER_ERROR"],
    [504, "Timeout", "SERVER_ERROR"],
  ] as const) {
    it(`maps ${status} ${reason} to ${code}, with or without a Status`, () => {
      const error = statusError({ status, headers: {}, body: statusOf(status, reason) }, nowMs);
      expect(error).to.include({ code, status, reason });
      expect(error.message).to.equal(`the API server answered ${status} ${reason}: what it says`);
      expect(statusError({ status, headers: {}, body: "" }, nowMs)).to.include({
        code,
        status,
        reason: undefined,
      });
    });
  }

  it("has the causes, whatever is in their place", () => {
    const causes = [
      { reason: "FieldManagerConflict", message: 'conflict with "argocd"', field: ".spec.replicas" },
      { reason: "Other", message: 1 },
      null,
    ];
    const body = statusOf(409, "Conflict", { details: { causes } });
    expect(statusError({ status: 409, headers: {}, body }, nowMs).causes).to.deep.equal([
      causes[0],
      { reason: "Other", message: undefined, field: undefined },
      { reason: undefined, message: undefined, field: undefined },
    ]);
    const without = statusOf(409, "Conflict", { details: { causes: "none" } });
    expect(statusError({ status: 409, headers: {}, body: without }, nowMs).causes).to.deep.equal([]);
  });

  it("reads plain text, as a deleted CRD leaves it", () => {
    const error = statusError({ status: 404, headers: {}, body: "404 page not found\n" }, nowMs);
    expect(error).to.include({
      code: "NOT_FOUND",
      message: "the API server answered 404: 404 page not found",
    });
  });

  it("recognises an HTML page as another server's", () => {
    const body = "<!DOCTYPE html><html><head><title>Bad\n Gateway</title></head></html>";
    const error = statusError({ status: 502, headers: {}, body }, nowMs);
    expect(error.code).to.equal("SERVER_ERROR");
    expect(error.message)
      .to.include("«Bad Gateway»")
      .and.include("a proxy or load balancer in front of the API server");
  });

  it("accepts an empty body, JSON that is not a Status, a truncated Status, and one without fields", () => {
    const codes = [
      "",
      "[1]",
      '{"error":"x"}',
      statusOf(403, "Forbidden").slice(0, 40),
      '{"kind":"Status"}',
      "null",
    ].map((body) => statusError({ status: 403, headers: {}, body }, nowMs).code);
    expect(codes).to.deep.equal(Array.from({ length: 6 }, () => "FORBIDDEN"));
  });

  it("keeps the message short, whatever the body", () => {
    const long = "x".repeat(60_000);
    expect(statusError({ status: 500, headers: {}, body: long }, nowMs).message.length).to.be.lessThan(300);
    expect(
      statusError({ status: 500, headers: {}, body: statusOf(500, "x", { message: long }) }, nowMs).message
        .length,
    ).to.be.lessThan(2_100);
  });

  it("maps an answer that is neither success nor error to PROTOCOL", () => {
    expect(statusError({ status: 302, headers: {}, body: "" }, nowMs).code).to.equal("PROTOCOL");
  });

  it("reads Retry-After as seconds and as a date, but prefers the Status", () => {
    const after = (value: string, body = ""): number | undefined =>
      statusError({ status: 429, headers: { "retry-after": value }, body }, nowMs).retryAfterMs;
    expect(after("7")).to.equal(7_000);
    expect(after("Sat, 21 Nov 2026 07:00:30 GMT")).to.equal(30_000);
    expect(after("Sat, 21 Nov 2026 06:00:30 GMT")).to.equal(0);
    expect(after("soon")).to.equal(undefined);
    expect(after("1", statusOf(429, "TooManyRequests", { details: { retryAfterSeconds: 3 } }))).to.equal(
      3_000,
    );
    expect(after("1", statusOf(429, "TooManyRequests"))).to.equal(1_000);
  });
});

describe("errorOfStatus", () => {
  it("recognises a resourceVersion the server has not seen, by its cause and by its message", () => {
    const details = {
      retryAfterSeconds: 1,
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    };
    expect(
      errorOfStatus({ kind: "Status", code: 504, reason: "Timeout", message: "Timeout: x", details }),
    ).to.include({
      code: "RESOURCE_VERSION_TOO_LARGE",
      status: 504,
      reason: "Timeout",
      retryAfterMs: 1_000,
    });
    expect(
      errorOfStatus({ message: "Timeout: Too large resource version: 9, current: 5", code: 504 }).code,
    ).to.equal("RESOURCE_VERSION_TOO_LARGE");
  });

  it("reads a Status from within a watch", () => {
    expect(
      errorOfStatus({
        kind: "Status",
        code: 410,
        reason: "Expired",
        message: "too old resource version: 1 (2)",
      }),
    ).to.include({
      code: "EXPIRED",
      status: 410,
    });
    expect(
      errorOfStatus({ code: 500, message: "required storage feature RequestWatchProgress is disabled" }).code,
    ).to.equal("SERVER_ERROR");
  });

  it("accepts any value", () => {
    for (const object of [undefined, null, 3, "text", {}, { code: "x", reason: 4, details: null }]) {
      expect(errorOfStatus(object).code).to.equal("PROTOCOL");
    }
    expect(errorOfStatus({ details: { causes: "x" }, code: 500 }).code).to.equal("SERVER_ERROR");
  });
});
