import { RateLimitedLog } from "@bunting/runtime";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { expect } from "chai";
import { plainKey, secretPath } from "../api/webhooks.js";
import type { AdmissionAnswer } from "./admission-answer.js";
import { AdmissionHandler, type ReviewReply, type Webhook } from "./admission-handler.js";
import { deepJson, reviewOf } from "./admission-review.fixture.js";
import type { AdmissionRequest } from "./admission-review.js";

interface Response {
  readonly uid: string;
  readonly allowed: boolean;
  readonly warnings?: readonly string[];
  readonly patch?: string;
  readonly status?: { readonly message: string; readonly code: number; readonly details?: object };
}

describe("AdmissionHandler", () => {
  const logger = recordingLogger();
  let counted: string[];
  let reviewed: AdmissionRequest[];
  let answer: () => AdmissionAnswer;
  let handler: AdmissionHandler;
  let keys: string[];
  const webhook: Webhook = {
    name: "pod",
    kinds: [{ group: "", version: "v1", kind: "Pod" }],
    review: (request) => {
      reviewed.push(request);
      return answer();
    },
  };

  beforeEach(() => {
    counted = [];
    reviewed = [];
    keys = ["A", "B"];
    answer = () => ({ isAllowed: true });
    const clock = new ManualClock();
    handler = new AdmissionHandler({
      webhooks: new Map([["/mutate-v1-pod", webhook]]),
      keys: () => keys,
      context: {
        clock,
        logger,
        metrics: { admission: (name, result) => counted.push(`${name} ${result}`) },
      },
      log: new RateLimitedLog(logger, clock),
    });
  });

  function handle(body: Buffer | string): Promise<ReviewReply> {
    return handler.handle(webhook, Buffer.from(body), 0);
  }

  function responseOf({ status, body }: ReviewReply): Response {
    expect(status, body).to.equal(200);
    const review = JSON.parse(body) as { apiVersion: string; kind: string; response: Response };
    expect([review.apiVersion, review.kind]).to.deep.equal(["admission.k8s.io/v1", "AdmissionReview"]);
    return review.response;
  }

  it("answers a path only for those who know one of its keys", () => {
    const path = secretPath("/mutate-v1-pod", "A");
    expect(path).to.match(/^\/mutate-v1-pod\/[0-9a-f]{64}$/);
    for (const key of ["A", "B"])
      expect(handler.webhookAt(secretPath("/mutate-v1-pod", key))).to.equal(webhook);
    const other = secretPath("/mutate-v1-pod/required", "A").split("/").at(-1);
    for (const wrong of [
      ...["", "/", "mutate-v1-pod", "/mutate-v1-pod", "/mutate-v1-pod/", "/mutate-v1-pod/A"],
      ...[`${path}/`, `${path}x`, path.slice(0, -1), `/mutate-v1-pod/${other}`],
      ...[secretPath("/mutate-v1-pod", "C"), path.toUpperCase()],
    ])
      expect(handler.webhookAt(wrong), wrong).to.equal(undefined);
    keys = [plainKey, "A"];
    for (const known of [path, "/mutate-v1-pod"]) expect(handler.webhookAt(known)).to.equal(webhook);
    expect(handler.webhookAt("/mutate-v1-pod/"), "beside another operator").to.equal(undefined);
    keys = [];
    expect(handler.webhookAt(path), "before there is a key").to.equal(undefined);
  });

  it("answers a review under its uid, with what the webhook says", async () => {
    expect(responseOf(await handle(reviewOf({})))).to.deep.equal({ uid: "4711", allowed: true });
    answer = () => ({ isAllowed: true, warnings: ["look"], patch: [{ op: "remove", path: "/a" }] });
    const { patch = "", warnings } = responseOf(await handle(reviewOf({ uid: "u2" })));
    expect(warnings).to.deep.equal(["look"]);
    expect(JSON.parse(Buffer.from(patch, "base64").toString())).to.deep.equal([{ op: "remove", path: "/a" }]);
    answer = () => ({
      isAllowed: false,
      refusal: { message: "no", causes: [{ field: "a.b", message: "x" }] },
    });
    const { status } = responseOf(await handle(reviewOf({})));
    expect(status).to.deep.include({ code: 422, message: "no" });
    expect(JSON.stringify(status?.details)).to.contain('"field":"a.b"');
    answer = () => ({ isAllowed: true, warnings: ["look"] });
    await handle(reviewOf({}));
    expect(counted).to.deep.equal(["pod allowed", "pod patched", "pod refused", "pod warned"]);
  });

  it("shows ten warnings at most, in one line of 256 characters each", async () => {
    answer = () => ({
      isAllowed: true,
      warnings: Array.from({ length: 30 }, (_, i) => `${i}\n${"x".repeat(1_000)}`),
    });
    const { warnings = [] } = responseOf(await handle(reviewOf({})));
    expect(warnings).to.have.length(10);
    for (const warning of warnings) expect(warning).to.match(/^[^\n]{1,256}$/);
    expect(warnings[9]).to.equal("and 21 more: bunting lint shows them all");
    answer = () => ({ isAllowed: true, warnings: Array.from({ length: 10 }, () => "w") });
    expect(responseOf(await handle(reviewOf({}))).warnings?.at(-1)).to.equal("w");
  });

  it("cuts a refusal that nobody would read to its end", async () => {
    answer = () => ({
      isAllowed: false,
      refusal: {
        message: "x".repeat(1_000_000),
        causes: Array.from({ length: 1_000 }, () => ({ field: "f", message: "y".repeat(10_000) })),
      },
    });
    expect((await handle(reviewOf({}))).body.length).to.be.lessThan(16_000);
  });

  it("answers what is no review with 400 and a sentence, and asks no webhook", async () => {
    const expected = new Map<string | Buffer, string>([
      ["", "the body is not JSON"],
      ["{", "the body is not JSON"],
      [Buffer.from([0xff, 0xfe, 0]), "the body is not JSON"],
      ["[]", "the body is not an object"],
      ["null", "the body is not an object"],
      [deepJson(3_000_000), "the body is nested more than 10000 levels deep"],
      [`[${"{},".repeat(2_000_000)}{}]`, "the body has more than 300000 objects and lists"],
      ["{}", 'expected an AdmissionReview of admission.k8s.io/v1, and got " of "'],
      [reviewOf({}).toString().replace("k8s.io/v1", "k8s.io/v1beta1"), "v1beta1"],
      ['{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}', 'the review has no "request"'],
      [reviewOf({ uid: 1 }), 'the request has no "uid"'],
      [reviewOf({ operation: null }), 'the request has no "operation"'],
      [reviewOf({ kind: "Pod" }), 'the request has no "kind"'],
      [reviewOf({ object: [] }), `the request's "object" is not an object`],
      [reviewOf({ oldObject: "x" }), `the request's "oldObject" is not an object`],
      [
        reviewOf({ kind: { group: "apps", version: "v1", kind: "Pod" } }),
        "objects of the kind Pod (v1) only",
      ],
      [reviewOf({ kind: { group: "", version: "v1", kind: "Secret" } }), "objects of the kind Pod (v1) only"],
    ]);
    for (const [body, sentence] of expected) {
      const { status, body: text } = await handle(body);
      expect(status, text).to.equal(400);
      expect(text).to.contain(sentence);
      expect(text.length).to.be.lessThan(300);
    }
    expect(reviewed).to.deep.equal([]);
    expect(new Set(counted)).to.deep.equal(new Set(["pod malformed"]));
  });

  it("hands on objects of any depth, and names that mean something to JavaScript", async () => {
    const body = reviewOf({ object: { deep: 0, __proto__: null } }).toString();
    responseOf(
      await handle(body.replace('"deep":0', `"deep":${deepJson(9_000)},"__proto__":{"allowed":false}`)),
    );
    expect(reviewed).to.have.length(1);
    expect(({} as { allowed?: boolean }).allowed).to.equal(undefined);
  });

  it("answers a fault of its own with 500, so that the failure policy decides, and logs it", async () => {
    answer = () => {
      throw new RangeError("Maximum call stack size exceeded");
    };
    expect((await handle(reviewOf({}))).status).to.equal(500);
    expect(counted).to.deep.equal(["pod failed"]);
    expect(logger.lines.at(-1)).to.include({ level: "error", message: "a review can't be answered" });
  });
});
