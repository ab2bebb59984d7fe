import { expect } from "chai";
import { answerRequest, type HookResponse } from "./answer-request.js";
import { maxExtensionFindings } from "./extension-answer.js";
import { extensionRequest, proxyDeployment } from "./extension-request.fixture.js";
import { maxExtensionBytes, type ExtensionRequest } from "./extension-request.js";
import { refuse, type ExtensionHooks } from "./hooks.js";

const errors: unknown[] = [];

async function answer(hooks: ExtensionHooks, changes: Partial<ExtensionRequest> = {}): Promise<HookResponse> {
  errors.length = 0;
  return answerRequest(JSON.stringify(extensionRequest(changes)), hooks, (error) => errors.push(error));
}

describe("answerRequest", () => {
  it("answers 200 with the object that the hook returns", async () => {
    const object = { ...proxyDeployment(), spec: { replicas: 3 } };
    const { status, body = "" } = await answer({ preCreate: () => Promise.resolve(object) });
    expect([status, JSON.parse(body)]).to.deep.equal([200, object]);
  });

  it("answers 200 with the object that the hook got, if it has changed that", async () => {
    const { status, body = "" } = await answer({
      preCreate: ({ object }) => Object.assign(object, { spec: { replicas: 3 } }),
    });
    expect([status, JSON.parse(body)]).to.deep.equal([200, { ...proxyDeployment(), spec: { replicas: 3 } }]);
  });

  it("answers 204 if the hook returns nothing or what it got, and for hooks that there are not", async () => {
    expect(await answer({ preCreate: () => undefined })).to.deep.equal({ status: 204 });
    expect(await answer({ preCreate: ({ object }) => structuredClone(object) })).to.deep.equal({
      status: 204,
    });
    expect(await answer({ lint: () => expect.fail("another hook was asked for") })).to.deep.equal({
      status: 204,
    });
    expect(await answer({}, { hook: "lint", target: "FeatureFlag" })).to.deep.equal({ status: 204 });
  });

  it("answers 200 with findings, and 204 without any", async () => {
    const findings = [{ severity: "warning", message: "it is old" }] as const;
    const asked = { hook: "lint", target: "FeatureFlag" } as const;
    const { status, body = "" } = await answer({ lint: () => findings }, asked);
    expect([status, JSON.parse(body)]).to.deep.equal([200, { findings }]);
    expect(await answer({ lint: () => [] }, asked)).to.deep.equal({ status: 204 });
  });

  it("answers with as many findings as an operator reads, where a hook has more than fit into an answer", async () => {
    const findings = Array.from({ length: 10_000 }, (_, index) => ({
      severity: index === 9_999 ? ("error" as const) : ("warning" as const),
      message: `the flag ${index} has no owner: ${"write the team that decides on it ".repeat(3)}`,
    }));
    const { status, body = "" } = await answer(
      { lint: () => findings },
      { hook: "lint", target: "FeatureFlag" },
    );
    expect([status, errors]).to.deep.equal([200, []]);
    const answered = JSON.parse(body) as { readonly findings: readonly object[] };
    expect(answered.findings).to.have.length(maxExtensionFindings);
    expect(answered.findings[0]).to.deep.equal(findings[9_999]);
  });

  it("answers 422 with the reason of a refusal", async () => {
    const { status, body = "" } = await answer({ preCreate: () => refuse("no budget is left") });
    expect([status, JSON.parse(body)]).to.deep.equal([422, { message: "no budget is left" }]);
    expect(errors).to.have.length(0);
  });

  it("answers 500 without the error of a hook, which is reported", async () => {
    const error = new Error("the password is secret");
    const { status, body = "" } = await answer({ preCreate: () => Promise.reject(error) });
    expect(status).to.equal(500);
    expect(body).to.not.include("secret");
    expect(errors).to.deep.equal([error]);
  });

  it("answers 500 rather than with more than an operator reads", async () => {
    const object = { ...proxyDeployment(), text: "x".repeat(maxExtensionBytes) };
    expect((await answer({ preCreate: () => object })).status).to.equal(500);
    expect(String(errors[0])).to.include(`more than ${maxExtensionBytes} bytes`);
  });

  it("answers 400 to what is no request, and 404 to one of a later version", async () => {
    const hooks = { preCreate: () => expect.fail("it was asked") };
    expect((await answerRequest("{", hooks, console.error)).status).to.equal(400);
    const later = JSON.stringify({ ...extensionRequest(), target: "Later" });
    expect((await answerRequest(later, hooks, console.error)).status).to.equal(404);
  });
});
