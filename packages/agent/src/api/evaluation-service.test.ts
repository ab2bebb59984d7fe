import { LongRequestQueue, type PortListener } from "@bunting/server";
import {
  evaluationV1 as v1,
  evaluationV2 as v2,
  schemaV1 as schema,
  type JsonObject,
  type JsonValue,
} from "@bunting/protocol";
import type { StatusName } from "@bunting/rpc";
import type { ServiceError } from "@grpc/grpc-js";
import { expect } from "chai";
import { grpcMethods } from "./grpc/grpc-methods.js";
import {
  createWorld,
  expectStatus,
  GrpcClient,
  listen,
  releaseAfterEach,
  type World,
  type WorldOptions,
} from "./api.fixture.js";

const document: JsonObject = {
  flags: {
    on: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "on" },
    off: { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "off" },
    text: { state: "ENABLED", variants: { a: "hello", none: "" }, defaultVariant: "a" },
    pi: {
      state: "ENABLED",
      variants: { pi: 3.14, minus: -3.9, huge: 1e30 },
      defaultVariant: "pi",
      targeting: { var: "number" },
    },
    object: { state: "ENABLED", variants: { o: { a: [1, { b: null }] } }, defaultVariant: "o" },
    list: { state: "ENABLED", variants: { l: [1] }, defaultVariant: "l" },
    disabled: { state: "DISABLED", variants: { on: true }, defaultVariant: "on", metadata: { why: "test" } },
    codeDefault: { state: "ENABLED", variants: { on: true } },
    codeDefaultText: { state: "ENABLED", variants: { a: "a" }, defaultVariant: "" },
    targeted: {
      state: "ENABLED",
      variants: { red: "r", blue: "b" },
      defaultVariant: "red",
      targeting: { var: "color" },
    },
    targetedOnly: { state: "ENABLED", variants: { red: "r" }, targeting: { var: "color" } },
    broken: { state: "ENABLED", variants: { on: true }, defaultVariant: "on", targeting: { nonsense: [] } },
    brokenOnly: { state: "ENABLED", variants: { on: true }, targeting: { nonsense: [] } },
    described: {
      state: "ENABLED",
      variants: { on: true },
      defaultVariant: "on",
      metadata: { owner: "ada", version: 7, ok: true },
    },
  },
  metadata: { set: "one", owner: "set" },
};
const otherSet: JsonObject = {
  flags: { on: { state: "ENABLED", variants: { yes: "other" }, defaultVariant: "yes" } },
  metadata: { flagSetId: "other" },
};

const setMetadata = { set: "one", owner: "set" };

async function serve(
  options: WorldOptions = {},
): Promise<{ world: World; client: GrpcClient; listener: PortListener }> {
  const world = createWorld({ documents: [document], ...options });
  const listener = await listen(
    world.services.flatMap((service) => grpcMethods(service, new LongRequestQueue())),
  );
  return { world, listener, client: new GrpcClient(listener.port) };
}

const boolV2 = [v2.ResolveBooleanRequest, v2.ResolveBooleanResponse] as const;
const boolV1 = [v1.ResolveBooleanRequest, v1.ResolveBooleanResponse] as const;
const boolSchema = [schema.ResolveBooleanRequest, schema.ResolveBooleanResponse] as const;
const pathV2 = "/flagd.evaluation.v2.Service/Resolve";
const pathV1 = "/flagd.evaluation.v1.Service/Resolve";
const pathSchema = "/schema.v1.Service/Resolve";
const asked = (flagKey: string, context: JsonObject = {}): { flagKey: string; context: JsonObject } => ({
  flagKey,
  context,
});

describe("the evaluation services over gRPC", () => {
  releaseAfterEach();

  it("answer every accessor in every protocol", async () => {
    const { client } = await serve();
    const families = [
      { path: pathV2, messages: v2 },
      { path: pathV1, messages: v1 },
      { path: pathSchema, messages: schema },
    ];
    for (const { path, messages } of families) {
      const rest = { reason: "STATIC", metadata: setMetadata };
      expect(
        await client.unary(
          `${path}Boolean`,
          [messages.ResolveBooleanRequest, messages.ResolveBooleanResponse],
          asked("off"),
        ),
      ).to.deep.equal({ value: false, variant: "off", ...rest });
      expect(
        await client.unary(
          `${path}String`,
          [messages.ResolveStringRequest, messages.ResolveStringResponse],
          asked("text"),
        ),
      ).to.deep.equal({ value: "hello", variant: "a", ...rest });
      expect(
        await client.unary(
          `${path}Float`,
          [messages.ResolveFloatRequest, messages.ResolveFloatResponse],
          asked("pi"),
        ),
      ).to.deep.equal({ value: 3.14, variant: "pi", reason: "DEFAULT", metadata: setMetadata });
      expect(
        await client.unary(
          `${path}Int`,
          [messages.ResolveIntRequest, messages.ResolveIntResponse],
          asked("pi"),
        ),
      ).to.deep.equal({ value: "3", variant: "pi", reason: "DEFAULT", metadata: setMetadata });
      expect(
        await client.unary(
          `${path}Object`,
          [messages.ResolveObjectRequest, messages.ResolveObjectResponse],
          asked("object"),
        ),
      ).to.deep.equal({ value: { a: [1, { b: null }] }, variant: "o", ...rest });
    }
  });

  it("say UNAVAILABLE for what a source may have that has not answered, and that clients are not to retry while the application waits; NOT_FOUND afterwards", async () => {
    const { client, world } = await serve({ documents: [document, { flags: {} }], unread: [1] });
    const ways = [
      [pathV2, boolV2],
      [pathV1, boolV1],
      [pathSchema, boolSchema],
    ] as const;
    const ask = (selector: string, code: StatusName, details: string): Promise<unknown> =>
      Promise.all(
        ways.map(([path, types]) => {
          const headers = { "flagd-selector": selector };
          return expectStatus(
            client.unary(`${path}Boolean`, types, asked("nowhere"), headers),
            code,
            details,
          );
        }),
      );
    const unread = "a source that may have the flag has not answered yet";
    for (const [path, types] of ways)
      expect(await client.unary(`${path}Boolean`, types, asked("on"))).to.include({ value: true });
    await ask("", "UNAVAILABLE", unread);
    for (const [path, types] of ways) {
      const refusal = (error: unknown): ServiceError => error as ServiceError;
      const refused = await client.unary(`${path}Boolean`, types, asked("nowhere")).catch(refusal);
      expect((refused as ServiceError).metadata.get("grpc-retry-pushback-ms")).to.deep.equal(["-1"]);
    }
    await ask("source=source-1", "UNAVAILABLE", unread);
    await ask("source=source-0", "NOT_FOUND", "Flag not found");
    const all = [
      [`${pathV1}All`, [v1.ResolveAllRequest, v1.ResolveAllResponse]],
      [`${pathSchema}All`, [schema.ResolveAllRequest, schema.ResolveAllResponse]],
    ] as const;
    for (const [path, types] of all) {
      expect((await client.unary(path, types, { context: {} })).flags).to.include.keys("on");
      const none = client.unary(path, types, { context: {} }, { "flagd-selector": "source=source-1" });
      await expectStatus(none, "UNAVAILABLE", unread);
    }
    // It leaves its value to the code, which v1 can't say in another way: the flag is known.
    await expectStatus(
      client.unary(`${pathV1}Boolean`, boolV1, asked("codeDefault")),
      "NOT_FOUND",
      "Flag not found",
    );
    world.unread.answered(1);
    await ask("", "NOT_FOUND", "Flag not found");
  });

  it("drop the fraction of an Int and keep it within 64 bits", async () => {
    const { client } = await serve();
    const ask = (number: string): Promise<v2.ResolveIntResponse> =>
      client.unary(`${pathV2}Int`, [v2.ResolveIntRequest, v2.ResolveIntResponse], asked("pi", { number }));
    expect(await ask("minus")).to.include({ value: "-3", reason: "TARGETING_MATCH" });
    expect(await ask("huge")).to.include({ value: "-9223372036854775808" });
  });

  it("leave value and variant unset where v2 means the default in the code, or the flag is disabled", async () => {
    const { client } = await serve();
    expect(await client.unary(`${pathV2}Boolean`, boolV2, asked("codeDefault"))).to.deep.equal({
      value: undefined,
      variant: undefined,
      reason: "DEFAULT",
      metadata: setMetadata,
    });
    expect(await client.unary(`${pathV2}Boolean`, boolV2, asked("disabled"))).to.deep.equal({
      value: undefined,
      variant: undefined,
      reason: "DISABLED",
      metadata: { ...setMetadata, why: "test" },
    });
  });

  it("fail where v1 means the default in the code, and answer the zero value for a disabled flag", async () => {
    const { client, world } = await serve();
    await expectStatus(
      client.unary(`${pathV1}Boolean`, boolV1, asked("codeDefault")),
      "NOT_FOUND",
      "Flag not found",
    );
    expect(world.metrics.calls).to.deep.equal([["evaluationFailed", "codeDefault", "FLAG_NOT_FOUND"]]);
    expect(await client.unary(`${pathV1}Boolean`, boolV1, asked("disabled"))).to.deep.equal({
      value: false,
      variant: "",
      reason: "DISABLED",
      metadata: { ...setMetadata, why: "test" },
    });
    expect(
      await client.unary(
        `${pathV1}Object`,
        [v1.ResolveObjectRequest, v1.ResolveObjectResponse],
        asked("disabled"),
      ),
    ).to.deep.include({ value: {}, reason: "DISABLED" });
  });

  it("answer a zero value with reason DEFAULT, never FALLBACK, where schema.v1 means the default in the code", async () => {
    const { client } = await serve();
    expect(await client.unary(`${pathSchema}Boolean`, boolSchema, asked("codeDefault"))).to.include({
      value: false,
      variant: "",
      reason: "DEFAULT",
    });
    expect(await client.unary(`${pathSchema}Boolean`, boolSchema, asked("disabled"))).to.include({
      reason: "DISABLED",
    });
  });

  it("end with flagd's statuses and messages", async () => {
    const { client } = await serve();
    for (const [path, types] of [
      [pathV2, boolV2],
      [pathV1, boolV1],
      [pathSchema, boolSchema],
    ] as const) {
      const ask = (key: string, context: JsonObject = {}): Promise<unknown> =>
        client.unary(`${path}Boolean`, types as typeof boolV2, asked(key, context));
      await expectStatus(ask("nowhere"), "NOT_FOUND", "Flag not found");
      await expectStatus(ask("text"), "INVALID_ARGUMENT", "Type mismatch error");
      await expectStatus(ask("list"), "INVALID_ARGUMENT", "Type mismatch error");
      await expectStatus(ask("broken"), "DATA_LOSS", "Error parsing input or configuration");
      await expectStatus(ask("targeted", { color: "green" }), "UNKNOWN", "General error");
    }
    await expectStatus(
      client.unary(`${pathV2}Object`, [v2.ResolveObjectRequest, v2.ResolveObjectResponse], asked("list")),
      "INVALID_ARGUMENT",
      "Type mismatch error",
    );
  });

  it("merge metadata: the flag's over its set's over the selector's", async () => {
    const { client } = await serve({ documents: [document, otherSet] });
    const ask = async (key: string, selector?: string): Promise<JsonValue> => {
      const headers: Record<string, string> = selector === undefined ? {} : { "flagd-selector": selector };
      const answer = await client.unary(`${pathV2}Boolean`, boolV2, asked(key), headers);
      return answer.metadata as JsonObject;
    };
    expect(await ask("described")).to.deep.equal({ set: "one", owner: "ada", version: 7, ok: true });
    expect(await ask("described", "source-0")).to.deep.equal({
      source: "source-0",
      set: "one",
      owner: "ada",
      version: 7,
      ok: true,
    });
    expect(await ask("off", "")).to.deep.equal(setMetadata);
  });

  it("evaluate only flags of the selected set", async () => {
    const { client } = await serve({ documents: [document, otherSet] });
    const select = { "flagd-selector": "flagSetId=other" };
    expect(
      await client.unary(
        `${pathV2}String`,
        [v2.ResolveStringRequest, v2.ResolveStringResponse],
        asked("on"),
        select,
      ),
    ).to.deep.equal({ value: "other", variant: "yes", reason: "STATIC", metadata: { flagSetId: "other" } });
    await expectStatus(
      client.unary(`${pathV2}Boolean`, boolV2, asked("off"), select),
      "NOT_FOUND",
      "Flag not found",
    );
  });

  it("refuse a selector that can't be parsed with INVALID_ARGUMENT and a message", async () => {
    const { client } = await serve();
    try {
      await client.unary(`${pathV2}Boolean`, boolV2, asked("on"), { "flagd-selector": "color=red" });
      expect.fail("the selector was accepted");
    } catch (error) {
      expect(error).to.include({ code: 3 }).and.have.property("details").that.includes("color");
    }
  });

  it("add static and header values to the context, but no header values in schema.v1", async () => {
    const { client } = await serve({
      contextFromHeader: { "X-Color": "color" },
    });
    const header = { "x-color": "blue" };
    expect(
      await client.unary(
        `${pathV2}String`,
        [v2.ResolveStringRequest, v2.ResolveStringResponse],
        asked("targeted", { color: "red" }),
        header,
      ),
    ).to.include({ value: "b", reason: "TARGETING_MATCH" });
    expect(
      await client.unary(
        `${pathSchema}String`,
        [schema.ResolveStringRequest, schema.ResolveStringResponse],
        asked("targeted", { color: "red" }),
        header,
      ),
    ).to.include({ value: "r", reason: "TARGETING_MATCH" });
    const fixed = await serve({ contextValues: { color: "blue" } });
    expect(
      await fixed.client.unary(
        `${pathSchema}String`,
        [schema.ResolveStringRequest, schema.ResolveStringResponse],
        asked("targeted", { color: "red" }),
      ),
    ).to.include({ value: "b" });
  });

  it("refuse a request that is not a valid message with INVALID_ARGUMENT", async () => {
    const { client, world } = await serve();
    await expectStatus(
      client.raw(`${pathV2}Boolean`, Buffer.from("0a05616263", "hex")),
      "INVALID_ARGUMENT",
      "The request is not a valid protobuf message: it is cut short.",
    );
    await expectStatus(
      client.raw(`${pathV1}All`, Buffer.from("0a05616263", "hex")),
      "INVALID_ARGUMENT",
      "The request is not a valid protobuf message: it is cut short.",
    );
    expect(world.metrics.calls).to.deep.equal([]);
  });

  it("count each evaluation with its flag, variant and reason", async () => {
    const { client, world } = await serve();
    await client.unary(`${pathV2}Boolean`, boolV2, asked("on"));
    await client.unary(`${pathV2}Boolean`, boolV2, asked("codeDefault"));
    await client.unary(`${pathV2}Boolean`, boolV2, asked("text")).catch(() => undefined);
    expect(world.metrics.calls).to.deep.equal([
      ["evaluated", "on", "STATIC", "on"],
      ["evaluated", "codeDefault", "FALLBACK", ""],
      ["evaluationFailed", "text", "TYPE_MISMATCH"],
    ]);
  });

  describe("ResolveAll", () => {
    const all = [v1.ResolveAllRequest, v1.ResolveAllResponse] as const;

    it("answers flags that have a type: values, disabled ones with zero values, failed ones with ERROR", async () => {
      const { client } = await serve();
      const { flags, metadata } = await client.unary(`${pathV1}All`, all, { context: { color: "red" } });
      expect(metadata).to.deep.equal({});
      expect(Object.keys(flags).sort()).to.deep.equal(
        ["broken", "described", "disabled", "object", "off", "on", "pi", "targeted", "text"].sort(),
      );
      expect(flags["on"]).to.deep.equal({
        reason: "STATIC",
        variant: "on",
        value: { $case: "boolValue", value: true },
        metadata: setMetadata,
      });
      expect(flags["pi"]?.value).to.deep.equal({ $case: "doubleValue", value: 3.14 });
      expect(flags["object"]?.value).to.deep.equal({ $case: "objectValue", value: { a: [1, { b: null }] } });
      expect(flags["targeted"]).to.include({ reason: "TARGETING_MATCH", variant: "red" });
      expect(flags["disabled"]).to.deep.equal({
        reason: "DISABLED",
        variant: "",
        value: { $case: "boolValue", value: false },
        metadata: { ...setMetadata, why: "test" },
      });
      expect(flags["broken"]).to.deep.equal({
        reason: "ERROR",
        variant: "",
        value: { $case: "boolValue", value: false },
        metadata: setMetadata,
      });
    });

    it("answers the selected set only, and names it", async () => {
      const { client } = await serve({ documents: [document, otherSet] });
      const { flags, metadata } = await client.unary(
        `${pathV1}All`,
        all,
        { context: {} },
        { "flagd-selector": "flagSetId=other" },
      );
      expect(Object.keys(flags)).to.deep.equal(["on"]);
      expect(metadata).to.deep.equal({ flagSetId: "other" });
    });

    it("answers each key as a single evaluation does: with the flag of the latest source, or of the selected set", async () => {
      const of = (flagSetId: string, variant: string): JsonObject => ({
        flags: { shared: { state: "ENABLED", variants: { a: "a", b: "b" }, defaultVariant: variant } },
        metadata: { flagSetId },
      });
      const { client, world } = await serve({ documents: [of("z", "a"), of("y", "b")] });
      const resolve = [v1.ResolveStringRequest, v1.ResolveStringResponse] as const;
      for (const [selector, variant] of [
        ["", "b"],
        ["flagSetId=z", "a"],
      ] as const) {
        const headers = { "flagd-selector": selector };
        const request = { flagKey: "shared", context: {} };
        const alone = await client.unary(`${pathV1}String`, resolve, request, headers);
        expect(alone, selector).to.include({ variant });
        const { flags } = await client.unary(`${pathV1}All`, all, { context: {} }, headers);
        expect(flags).to.deep.equal({
          shared: { ...alone, value: { $case: "stringValue", value: alone.value } },
        });
      }
      expect(world.metrics.calls, "one count for each flag that is listed").to.have.length(5);
    });

    it("has no metadata in schema.v1", async () => {
      const { client } = await serve();
      // Decoded as v1, which would show the metadata.
      const { flags, metadata } = await client.unary(`${pathSchema}All`, all, { context: {} });
      expect(metadata).to.equal(undefined);
      expect(flags["on"]).to.deep.equal({
        reason: "STATIC",
        variant: "on",
        value: { $case: "boolValue", value: true },
        metadata: undefined,
      });
    });

    it("has a flag in schema.v1 whose default variant is a list, if its value has a type", async () => {
      const of = (targeting: JsonValue): JsonObject => ({
        state: "ENABLED",
        variants: { l: [1], text: "t" },
        defaultVariant: "l",
        targeting,
      });
      const { client } = await serve({ documents: [{ flags: { listed: of("l"), said: of("text") } }] });
      const { flags } = await client.unary(`${pathSchema}All`, all, { context: {} });
      expect(Object.keys(flags)).to.deep.equal(["said"]);
      expect(flags["said"]).to.deep.include({ variant: "text", value: { $case: "stringValue", value: "t" } });
      expect((await client.unary(`${pathV1}All`, all, { context: {} })).flags).to.deep.equal({});
    });

    it("counts no evaluation over v1 of a flag that it leaves out", async () => {
      const flag = { state: "ENABLED", variants: { l: [1] }, defaultVariant: "l" };
      const { client, world } = await serve({ documents: [{ flags: { flag } }] });
      await client.unary(`${pathV1}All`, all, { context: {} });
      expect(world.metrics.calls).to.deep.equal([]);
    });

    it("does not exist in v2", async () => {
      const { client } = await serve();
      await expectStatus(
        client.unary(`${pathV2}All`, all, { context: {} }),
        "UNIMPLEMENTED",
        "this server has no method /flagd.evaluation.v2.Service/ResolveAll",
      );
    });

    it("counts a failed flag as failed", async () => {
      const { client, world } = await serve({
        documents: [{ flags: { broken: (document["flags"] as JsonObject)["broken"] ?? null } }],
      });
      await client.unary(`${pathV1}All`, all, { context: {} });
      expect(world.metrics.calls).to.deep.equal([["evaluationFailed", "broken", "PARSE_ERROR"]]);
    });
  });
});
