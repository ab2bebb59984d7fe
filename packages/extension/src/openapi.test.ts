import { readFileSync } from "node:fs";
import path from "node:path";
import { readText } from "@bunting/files/text";
import { isJsonObject, type JsonObject, type JsonValue } from "@bunting/protocol";
import { expect } from "chai";
import { readAnswer } from "./extension-answer.js";
import {
  extensionAudience,
  extensionHooks,
  extensionOperations,
  extensionTargets,
} from "./extension-request.js";
import { readRequest } from "./read-request.js";

const file = path.join(import.meta.dirname, "../openapi.yaml");

describe("openapi.yaml", () => {
  let api: JsonValue;
  before(async () => {
    const read = await readText(file, readFileSync(file));
    api = read.kind === "error" ? expect.fail(read.message) : (read.documents[0]?.value ?? null);
  });

  function at(...steps: readonly string[]): JsonObject {
    let value: JsonValue | undefined = api;
    for (const step of steps) value = isJsonObject(value) ? value[step] : undefined;
    return isJsonObject(value) ? value : expect.fail(`it has no ${steps.join(" > ")}`);
  }

  const schema = (...steps: readonly string[]): JsonObject => at("components", "schemas", ...steps);
  const examples = (...steps: readonly string[]): readonly [string, JsonValue][] =>
    Object.entries(at("paths", "/", "post", ...steps, "examples")).map(([name, example]) => [
      name,
      (isJsonObject(example) ? example["value"] : undefined) ?? null,
    ]);
  const textOf = (value: JsonValue | undefined): string => (typeof value === "string" ? value : "");
  const requests = () => examples("requestBody", "content", "application/json");

  it("has the names that the code has", () => {
    expect(schema("Request", "properties", "hook")["enum"]).to.deep.equal(extensionHooks);
    expect(schema("Request", "properties", "target")["enum"]).to.deep.equal(extensionTargets);
    expect(schema("Request", "properties", "operation")["enum"]).to.deep.equal(extensionOperations);
    expect(at("components", "securitySchemes", "token")["description"]).to.include(extensionAudience);
  });

  it("has the fields of a request, and requires those without which it is none", () => {
    const [, whole] = requests()[0] ?? expect.fail("it shows no request");
    const request = isJsonObject(whole) ? whole : expect.fail("it is no object");
    expect(Object.keys(schema("Request", "properties"))).to.deep.equal(Object.keys(request));
    const required = schema("Request")["required"] as readonly string[];
    for (const field of Object.keys(request)) {
      const without = Object.fromEntries(Object.entries(request).filter(([name]) => name !== field));
      const { kind } = readRequest(JSON.stringify(without));
      expect(kind, field).to.equal(required.includes(field) ? "invalid" : "request");
    }
  });

  it("shows requests that are read whole", () => {
    expect(requests()).to.have.length(2);
    for (const [name, request] of requests())
      expect(readRequest(JSON.stringify(request)), name).to.deep.equal({ kind: "request", request });
  });

  it("shows answers that mean what it says", () => {
    const contentType = "application/json";
    const answers = new Map(examples("responses", "200", "content", contentType));
    const body = (name: string): string => JSON.stringify(answers.get(name));
    expect(readAnswer("pre-create", { status: 200, contentType, body: body("preCreate") })).to.deep.equal({
      kind: "replaced",
      object: answers.get("preCreate"),
    });
    expect(readAnswer("lint", { status: 200, contentType, body: body("lint") })).to.deep.equal({
      kind: "commented",
      ...(answers.get("lint") as object),
    });
    const refusal = { kind: "refused", reason: "the namespace has no team" };
    const [[, json] = []] = examples("responses", "4XX", "content", contentType);
    expect(readAnswer("lint", { status: 403, contentType, body: JSON.stringify(json) })).to.deep.equal(
      refusal,
    );
    const [[, text] = []] = examples("responses", "4XX", "content", "text/plain");
    const plain = { status: 403, contentType: "text/plain", body: textOf(text) };
    expect(readAnswer("lint", plain)).to.deep.equal(refusal);
  });

  it("says of each status what follows from it", () => {
    const responses = at("paths", "/", "post", "responses");
    const { description } = at("paths", "/", "post", "responses", "4XX");
    const [, listed = ""] = /All but ([\d, and]+), which/.exec(textOf(description)) ?? [];
    const failures = new Set([...listed.matchAll(/\d+/g)].map(([status]) => Number(status)));
    for (let status = 201; status < 600; status++) {
      const { kind } = readAnswer("pre-create", { status, contentType: "", body: "" });
      const isRefusal = status >= 400 && status < 500 && !failures.has(status);
      const expected = String(status) in responses ? "unchanged" : isRefusal ? "refused" : "failed";
      expect(kind, String(status)).to.equal(expected);
    }
  });
});
