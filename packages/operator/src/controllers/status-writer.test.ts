import { featureFlagSourceType } from "@bunting/featureflags/resources";
import { KubeError, type ApplyOptions, type KubeObject, type ObjectScope } from "@bunting/kube";
import { nextTurn } from "@bunting/runtime";
import { recordingLogger } from "@bunting/test/support/grpc-port.js";
import { ManualClock } from "@bunting/test/support/manual-clock.js";
import { expect } from "chai";
import { outdatedMs, StatusWriter, type StatusTarget } from "./status-writer.js";

type Fields = Readonly<Record<string, unknown>>;

const target: StatusTarget = {
  type: featureFlagSourceType,
  kind: "FeatureFlagSource",
  metadata: { namespace: "shop", name: "a" },
};
const status = { conditions: [{ type: "Accepted" }], digest: "d", usedBy: 1 };

describe("StatusWriter", () => {
  const logger = recordingLogger();
  let clock: ManualClock;
  let applied: { readonly scope: ObjectScope; readonly body: Fields; readonly how: ApplyOptions }[];
  /** Fields that the definition of the type has; the others are refused, or dropped where it has none at all. */
  let declared: ReadonlySet<string>;
  let error: KubeError | undefined;
  let abort: AbortController;
  let writer: StatusWriter;

  beforeEach(() => {
    logger.lines.length = 0;
    clock = new ManualClock();
    applied = [];
    declared = new Set(Object.keys(status));
    error = undefined;
    abort = new AbortController();
    writer = new StatusWriter({
      client: { apply },
      fieldManager: "bunting-operator-test",
      rate: { burst: 4, perSecond: 5 },
      context: { clock, logger },
    });
  });

  afterEach(() => expect(clock.pendingTimers).to.equal(0));

  function apply(scope: ObjectScope, object: object, how: ApplyOptions): Promise<KubeObject> {
    const body = object as { readonly status: Fields };
    applied.push({ scope, body, how });
    if (error !== undefined) return Promise.reject(error);
    const unknown = Object.keys(body.status).filter((field) => !declared.has(field));
    if (declared.size === 0) return Promise.resolve({ ...object, status: {} } as unknown as KubeObject);
    if (unknown.length === 0) return Promise.resolve(object as KubeObject);
    const sentences = unknown.map((field) => `.status.${field}: field not declared in schema`);
    const message = `failed to create typed patch object (shop/a): ${sentences.join("; ")}`;
    return Promise.reject(new KubeError("SERVER_ERROR", message));
  }

  const write = (of: Fields = status, to = target): Promise<unknown> => writer.write(to, of, abort.signal);
  const fields = (): string[] => applied.map(({ body }) => Object.keys(body["status"] as object).join());
  const warned = (): unknown[] =>
    logger.lines.map(({ fields: said }) => (said as { readonly fields: unknown }).fields);

  it("applies the status under its own name", async () => {
    expect(await write()).to.equal("written");
    expect(applied).to.deep.equal([
      {
        scope: { type: featureFlagSourceType, namespace: "shop", name: "a" },
        body: {
          apiVersion: "core.openfeature.dev/v1beta1",
          kind: "FeatureFlagSource",
          metadata: { namespace: "shop", name: "a" },
          status,
        },
        how: { fieldManager: "bunting-operator-test", force: true, subresource: "status" },
      },
    ]);
    expect(logger.lines).to.deep.equal([]);
  });

  it("writes what the type has where that refuses the rest, says so once, and asks no more for a while", async () => {
    declared = new Set(["conditions"]);
    expect(await write()).to.equal("outdated");
    expect(await write()).to.equal("outdated");
    expect(fields()).to.deep.equal(["conditions,digest,usedBy", "conditions", "conditions"]);
    expect(warned()).to.deep.equal([["digest", "usedBy"]]);
    expect(logger.lines[0]).to.have.nested.property("fields.type", "featureflagsources.core.openfeature.dev");
  });

  it("notices that a type without any fields drops them, and writes no more for a while", async () => {
    declared = new Set();
    expect(await write()).to.equal("outdated");
    expect(await write()).to.equal("outdated");
    expect(fields()).to.have.length(1);
    expect(warned()).to.deep.equal([Object.keys(status)]);
    expect(logger.lines[0]?.message).to.contain("CrdOutdated");
    declared = new Set(Object.keys(status));
    clock.advance(outdatedMs - 1);
    expect(await write()).to.equal("outdated");
    clock.advance(1);
    expect(await write()).to.equal("written");
    expect(fields()).to.have.length(2);
    expect(logger.lines).to.have.length(1);
  });

  it("finds fields one by one, and keeps what it knows of each type apart", async () => {
    declared = new Set(["conditions"]);
    expect(await write({ digest: "d" })).to.equal("outdated");
    expect(await write({ conditions: [], usedBy: 1 })).to.equal("outdated");
    expect(warned()).to.deep.equal([["digest"], ["usedBy"]]);
    declared = new Set(Object.keys(status));
    clock.advance(1_000);
    const other = { ...target, type: { ...featureFlagSourceType, plural: "flagds" } };
    expect(await write(status, other)).to.equal("written");
    expect(await write()).to.equal("outdated");
    expect(fields().at(-1)).to.equal("conditions");
  });

  it("misses no list of conditions that it has emptied", async () => {
    declared = new Set();
    expect(await write({ conditions: [] })).to.equal("written");
  });

  it("lets an object go that was deleted, or that another one has taken the place of", async () => {
    error = new KubeError("NOT_FOUND", "gone");
    expect(await write()).to.equal("gone");
    error = new KubeError("CONFLICT", "another uid");
    expect(await write(status, { ...target, metadata: { ...target.metadata, uid: "u" } })).to.equal("gone");
    clock.advance(1_000);
    expect(await write().catch((thrown: unknown) => thrown)).to.equal(error);
  });

  it("rejects with what has nothing to do with the type", async () => {
    error = new KubeError("SERVER_ERROR", "etcd is away");
    expect(await write().catch((thrown: unknown) => thrown)).to.equal(error);
    error = new KubeError("INVALID", ".spec.digest: field not declared in schema");
    expect(await write().catch((thrown: unknown) => thrown)).to.equal(error);
    expect(logger.lines).to.deep.equal([]);
  });

  it("has writes wait for their turn, until it is stopped", async () => {
    for (let writes = 0; writes < 4; writes++) await write();
    const fifth = write();
    await nextTurn();
    expect(applied).to.have.length(4);
    clock.advance(200);
    expect(await fifth).to.equal("written");
    const sixth = write().catch((thrown: unknown) => thrown);
    abort.abort();
    expect(await sixth).to.equal(abort.signal.reason);
    expect(applied).to.have.length(5);
  });

  it("says for how long an object has to wait after a write, and for longer where only numbers have changed", async () => {
    expect(writer.pauseLeftMs(target)).to.equal(0);
    await write();
    clock.advance(4_000);
    expect(writer.pauseLeftMs(target)).to.equal(6_000);
    expect(writer.pauseLeftMs(target, "counts")).to.equal(56_000);
    expect(writer.pauseLeftMs({ ...target, metadata: { namespace: "shop", name: "b" } })).to.equal(0);
    clock.advance(6_000);
    expect(writer.pauseLeftMs(target)).to.equal(0);
  });

  it("lets an object that was made anew, or that was not written, wait for nothing", async () => {
    const known = { ...target, metadata: { ...target.metadata, uid: "1" } };
    await write(status, known);
    expect(writer.pauseLeftMs({ ...known, metadata: { ...known.metadata, uid: "2" } })).to.equal(0);
    error = new KubeError("NOT_FOUND", "it is gone");
    const gone = { ...target, metadata: { namespace: "shop", name: "gone" } };
    expect(await write(status, gone)).to.equal("gone");
    expect(writer.pauseLeftMs(gone)).to.equal(0);
  });

  it("keeps the pause of an object while thousands of others are written", async () => {
    const named = (name: string): StatusTarget => ({ ...target, metadata: { namespace: "shop", name } });
    for (let index = 0; index < 2_100; index++) {
      // The next write of all objects together.
      clock.advance(200);
      await write(status, named(`n${String(index)}`));
    }
    expect(writer.pauseLeftMs(named("n2099"))).to.be.greaterThan(0);
    expect(writer.pauseLeftMs(named("n2099"), "counts")).to.be.greaterThan(0);
    expect(writer.pauseLeftMs(named("n1900"), "counts")).to.be.greaterThan(0);
    expect(writer.pauseLeftMs(named("n0"), "counts")).to.equal(0);
  });
});
